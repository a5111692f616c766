#include "gateway/store/tenants.h"

#include <assert.h>

STATEMENT(tenant_insert);
STATEMENT(tenant_list);
STATEMENT(tenant_next);
STATEMENT(quota_find);
STATEMENT(quota_lock);
STATEMENT(quota_update);

Status
tenants_create(Call *call, Store *store, TenantId id, const char *name)
{
    assert(name != NULL);

    Values values = {0};
    values_uuid(&values, id.value);
    values_text(&values, name);
    return store_execute(call, store, id, &sql_tenant_insert, &values, NULL);
}

static Status
read_tenant(Call *call, const Rows *rows, size_t row, Tenant *ret_tenant)
{
    RowReader reader = row_reader(call, rows, row);
    ret_tenant->id.value = row_uuid(&reader);
    ret_tenant->name = row_text(&reader);
    ret_tenant->created_us = row_time_us(&reader);
    ret_tenant->is_disabled = row_boolean(&reader);
    return row_end(call, &reader);
}

Status
tenants_list(Call *call, Store *store, const char *name, TenantList *ret_list)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_text(&values, name);
    TRY(store_query(call, store, NO_TENANT, &sql_tenant_list, &values, &rows));
    TenantList list = {.count = rows.count};
    list.items = arena_alloc(call->arena, (rows.count + 1) * sizeof *list.items);
    if (list.items == NULL) {
        return call_fail_memory(call, "a list of tenants");
    }
    for (size_t index = 0; index < rows.count; index++) {
        TRY(read_tenant(call, &rows, index, &list.items[index]));
    }
    *ret_list = list;
    return STATUS_OK;
}

Status
tenants_next(
    Call *call, Store *store, TenantId after, size_t count_max, TenantId **ret_ids, size_t *ret_count)
{
    assert(count_max > 0);

    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, after.value);
    values_int64(&values, (int64_t)count_max);
    TRY(store_query(call, store, NO_TENANT, &sql_tenant_next, &values, &rows));
    TenantId *ids = arena_alloc(call->arena, (rows.count + 1) * sizeof *ids);
    if (ids == NULL) {
        return call_fail_memory(call, "a list of tenants");
    }
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        ids[index].value = row_uuid(&reader);
        TRY(row_end(call, &reader));
    }
    *ret_ids = ids;
    *ret_count = rows.count;
    return STATUS_OK;
}

Status
quotas_find(Call *call, Store *store, TenantId tenant, Quota *ret_quota)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    Quota quota;
    values_uuid(&values, tenant.value);
    TRY(store_query(call, store, tenant, &sql_quota_find, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_NOT_FOUND, "the tenant has no quotas");
    }
    RowReader reader = row_reader(call, &rows, 0);
    quota.weight = row_double(&reader);
    quota.sessions_max = row_int64(&reader);
    quota.graphs_max = row_int64(&reader);
    quota.queued_steps_max = row_int64(&reader);
    quota.running_steps_max = row_int64(&reader);
    quota.stored_bytes_max = row_int64(&reader);
    quota.requests_per_second = row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_quota = quota;
    return STATUS_OK;
}

Status
quotas_update(Call *call, Store *store, TenantId tenant, const Quota *quota)
{
    uint64_t changed = 0;
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_double(&values, quota->weight);
    values_int64(&values, quota->sessions_max);
    values_int64(&values, quota->graphs_max);
    values_int64(&values, quota->queued_steps_max);
    values_int64(&values, quota->running_steps_max);
    values_int64(&values, quota->stored_bytes_max);
    values_int64(&values, quota->requests_per_second);
    TRY(store_execute(call, store, tenant, &sql_quota_update, &values, &changed));
    return changed == 0 ? call_fail(call, STATUS_NOT_FOUND, "the tenant has no quotas") : STATUS_OK;
}

Status
quotas_lock(Call *call, Store *store, TenantId tenant, const char *quota)
{
    assert(quota != NULL);

    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, quota);
    return store_execute(call, store, tenant, &sql_quota_lock, &values, NULL);
}
