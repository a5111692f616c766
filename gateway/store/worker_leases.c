#include "gateway/store/worker_leases.h"

#include <assert.h>

STATEMENT(worker_lease_put);
STATEMENT(worker_lease_list);
STATEMENT(worker_lease_delete);
STATEMENT(worker_lease_lapse);
STATEMENT(worker_mark_leaving);

Status
worker_leases_put(Call *call, Store *store, const WorkerLease *lease, bool is_other_lost, bool *ret_is_held)
{
    assert(lease->name != NULL && lease->lease_ms > 0);

    uint64_t changed = 0;
    Values values = {0};
    values_text(&values, lease->name);
    values_text(&values, lease->address);
    values_text(&values, lease->incarnation);
    values_int64(&values, lease->lease_ms);
    values_boolean(&values, is_other_lost);
    TRY(store_execute(call, store, NO_TENANT, &sql_worker_lease_put, &values, &changed));
    *ret_is_held = changed > 0;
    return STATUS_OK;
}

static Status
read_lease(Call *call, const Rows *rows, size_t row, WorkerLeaseList *list)
{
    RowReader reader = row_reader(call, rows, row);
    WorkerLease lease;
    list->epoch = row_int64(&reader);
    list->now_us = row_time_us(&reader);
    lease.name = row_text(&reader);
    lease.address = row_text(&reader);
    lease.incarnation = row_text(&reader);
    lease.lease_ms = row_int64(&reader);
    lease.beats = row_int64(&reader);
    lease.renewed_us = row_time_us(&reader);
    TRY(row_end(call, &reader));
    if (lease.name[0] != '\0') {
        list->items[list->count++] = lease;
    }
    return STATUS_OK;
}

Status
worker_leases_list(Call *call, Store *store, WorkerLeaseList *ret_list)
{
    AUTO_ROWS rows = {0};
    WorkerLeaseList list = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_worker_lease_list, &(Values){0}, &rows));
    list.items = arena_alloc(call->arena, (rows.count + 1) * sizeof *list.items);
    if (list.items == NULL) {
        return call_fail_memory(call, "a list of workers' leases");
    }
    for (size_t row = 0; row < rows.count; row++) {
        TRY(read_lease(call, &rows, row, &list));
    }
    *ret_list = list;
    return STATUS_OK;
}

/* Runs a statement about one life of a worker. */
static Status
execute_for(Call *call, Store *store, const Statement *statement, const char *name, const char *incarnation)
{
    assert(name != NULL && incarnation != NULL);

    Values values = {0};
    values_text(&values, name);
    values_text(&values, incarnation);
    return store_execute(call, store, NO_TENANT, statement, &values, NULL);
}

Status
worker_leases_delete(Call *call, Store *store, const char *name, const char *incarnation)
{
    return execute_for(call, store, &sql_worker_lease_delete, name, incarnation);
}

Status
worker_mark_leaving(Call *call, Store *store, const char *name, const char *incarnation)
{
    return execute_for(call, store, &sql_worker_mark_leaving, name, incarnation);
}

Status
worker_leases_lapse(
    Call *call, Store *store, const WorkerLease *const *lapsed, size_t count, uint64_t *ret_count)
{
    assert(lapsed != NULL && count > 0);

    AUTO_SQL_ARRAY names = sql_array(SQL_TEXT);
    AUTO_SQL_ARRAY beats = sql_array(SQL_INT64);
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        sql_array_text(&names, lapsed[index]->name);
        sql_array_int64(&beats, lapsed[index]->beats);
    }
    if (!values_array(&values, &names) || !values_array(&values, &beats)) {
        return call_fail_memory(call, "a list of workers' leases");
    }
    return store_execute(call, store, NO_TENANT, &sql_worker_lease_lapse, &values, ret_count);
}
