/* Tenants by name, for the commands of sluice-gateway. */
#pragma once

#include "gateway/store/tenants.h"

/* NOT_FOUND when there is none of this name. */
MUST_USE Status tenant_find(Call *call, const char *conninfo, const char *name, TenantId *ret_tenant);
