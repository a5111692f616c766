/* Tenants and their quotas.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store. */
#pragma once

#include "gateway/domain/tenant.h"
#include "gateway/store/connection.h"

typedef struct Tenant {
    TenantId id;
    const char *name; /* lower-case letters, digits and inner hyphens */
    uint64_t created_us;
    bool is_disabled;
} Tenant;

typedef struct TenantList {
    Tenant *items;
    size_t count;
} TenantList;

/* Creates a tenant with default quotas. ALREADY_EXISTS when the name or id is taken, INVALID_ARGUMENT for
 * a bad name. */
MUST_USE Status tenants_create(Call *call, Store *store, TenantId id, const char *name);

/* Lists the tenant of this name, or for NULL up to 1000 in the order of names. For a store of the role
 * QUEUE. */
MUST_USE Status tenants_list(Call *call, Store *store, const char *name, TenantList *ret_list);

/* Lists the ids of up to `count_max` tenants behind `after` (zero: from the first), in call->arena, in the
 * order of ids. For a store of the role QUEUE. */
MUST_USE Status tenants_next(
    Call *call, Store *store, TenantId after, size_t count_max, TenantId **ret_ids, size_t *ret_count);

MUST_USE Status quotas_find(Call *call, Store *store, TenantId tenant, Quota *ret_quota);
MUST_USE Status quotas_update(Call *call, Store *store, TenantId tenant, const Quota *quota);

/* Lets one transaction at a time take of the tenant's quota of this name, from here to its end: of two at
 * once the second counts what the first has taken. */
MUST_USE Status quotas_lock(Call *call, Store *store, TenantId tenant, const char *quota);
