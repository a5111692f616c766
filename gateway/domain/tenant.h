/* Tenants, what their keys may, and their quotas.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/slice.h"
#include "shared/base/uuid.h"

enum { TENANT_NAME_MAX = 63 };

/* The scope of a key that may see and drain workers. */
#define TENANT_SCOPE_OPERATOR "operator"

/* Returns whether a name is a label of the DNS in lower case (RFC 1123, 2.1), as the table of tenants wants
 * it. */
bool tenant_name_is_ok(Slice name);

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
