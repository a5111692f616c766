/* What the PostgreSQL server has room for. */
#pragma once

#include "gateway/store/connection.h"

/* How many connections may be open at a time, all roles and programs together. */
MUST_USE Status capacity_connections(Call *call, Store *store, uint64_t *ret_count);
