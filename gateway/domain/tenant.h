/* Tenants and their quotas. */
#pragma once

#include <stdint.h>

#include "shared/base/uuid.h"

/* The tenant of a gateway that runs with --auth=off; the first migration creates it. */
#define TENANT_DEFAULT ((TenantId){{{0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1}}})

/* The quotas of a tenant, and its weight against other tenants. */
typedef struct Quota {
    double weight;
    int64_t sessions_max;
    int64_t graphs_max;
    int64_t queued_steps_max;
    int64_t running_steps_max;
    int64_t stored_bytes_max;
    int64_t requests_per_second;
} Quota;
