#include "gateway/store/workers.h"

#include <assert.h>

STATEMENT(worker_seen);
STATEMENT(worker_lock);
STATEMENT(worker_insert);
STATEMENT(worker_list);
STATEMENT(worker_find);
STATEMENT(worker_set_draining);
STATEMENT(worker_delete);
STATEMENT(worker_forget);

static Status
read_worker(Call *call, const Rows *rows, size_t row, WorkerRecord *ret_worker)
{
    WorkerRecord worker;
    RowReader reader = row_reader(call, rows, row);
    worker.name = row_text(&reader);
    worker.task = row_int64(&reader);
    worker.address = row_text(&reader);
    worker.incarnation = row_text(&reader);
    worker.is_draining = row_boolean(&reader);
    worker.first_seen_us = row_time_us(&reader);
    worker.last_seen_us = row_time_us(&reader);
    TRY(row_end(call, &reader));
    *ret_worker = worker;
    return STATUS_OK;
}

static Status
list_workers(Call *call, const Rows *rows, WorkerList *ret_list)
{
    WorkerRecord *items = arena_alloc(call->arena, (rows->count + 1) * sizeof *items);
    if (items == NULL) {
        return call_fail_memory(call, "a list of workers");
    }
    for (size_t index = 0; index < rows->count; index++) {
        TRY(read_worker(call, rows, index, &items[index]));
    }
    *ret_list = (WorkerList){.items = items, .count = rows->count};
    return STATUS_OK;
}

/* Runs a statement whose parameters are the names, addresses and incarnations of workers. */
static Status
query_seen(Call *call, Store *store, const Statement *statement, const WorkerList *seen, Rows *ret_rows)
{
    AUTO_SQL_ARRAY names = sql_array(SQL_TEXT);
    AUTO_SQL_ARRAY addresses = sql_array(SQL_TEXT);
    AUTO_SQL_ARRAY incarnations = sql_array(SQL_TEXT);
    Values values = {0};
    for (size_t index = 0; index < seen->count; index++) {
        sql_array_text(&names, seen->items[index].name);
        sql_array_text(&addresses, seen->items[index].address);
        sql_array_text(&incarnations, seen->items[index].incarnation);
    }
    if (!values_array(&values, &names) || !values_array(&values, &addresses) ||
        !values_array(&values, &incarnations)) {
        return call_fail_memory(call, "a list of workers");
    }
    return store_query(call, store, NO_TENANT, statement, &values, ret_rows);
}

/* Inserts those that are new, and reads all: another gateway may have inserted some. */
static Status
insert_workers(Call *call, Store *store, const WorkerList *seen, WorkerList *ret_list)
{
    AUTO_ROWS none = {0};
    AUTO_ROWS rows = {0};
    TRY(store_begin(call, store, NO_TENANT));
    AUTO_TRANSACTION transaction = store;
    TRY(store_execute(call, store, NO_TENANT, &sql_worker_lock, &(Values){0}, NULL));
    TRY(query_seen(call, store, &sql_worker_insert, seen, &none));
    TRY(query_seen(call, store, &sql_worker_seen, seen, &rows));
    TRY(store_commit(call, TAKE(transaction)));
    return list_workers(call, &rows, ret_list);
}

Status
workers_upsert(Call *call, Store *store, const WorkerRecord *seen, size_t count, WorkerList *ret_list)
{
    assert(seen != NULL && count > 0);

    WorkerList list = {.items = seen, .count = count};
    AUTO_ROWS rows = {0};
    TRY(query_seen(call, store, &sql_worker_seen, &list, &rows));
    return rows.count < count ? insert_workers(call, store, &list, ret_list)
                              : list_workers(call, &rows, ret_list);
}

Status
workers_list(Call *call, Store *store, WorkerList *ret_list)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_worker_list, &(Values){0}, &rows));
    return list_workers(call, &rows, ret_list);
}

static Status
fail_not_found(Call *call, const char *name)
{
    return call_fail(call, STATUS_NOT_FOUND, "worker '%s' is not known", name);
}

Status
workers_find(Call *call, Store *store, const char *name, WorkerRecord *ret_worker)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_text(&values, name);
    TRY(store_query(call, store, NO_TENANT, &sql_worker_find, &values, &rows));
    return rows.count == 0 ? fail_not_found(call, name) : read_worker(call, &rows, 0, ret_worker);
}

Status
workers_set_draining(Call *call, Store *store, const char *name, bool is_draining)
{
    assert(name != NULL);

    uint64_t changed = 0;
    Values values = {0};
    values_text(&values, name);
    values_boolean(&values, is_draining);
    TRY(store_execute(call, store, NO_TENANT, &sql_worker_set_draining, &values, &changed));
    return changed == 0 ? fail_not_found(call, name) : STATUS_OK;
}

Status
workers_delete(Call *call, Store *store, const char *name)
{
    uint64_t changed = 0;
    Values values = {0};
    values_text(&values, name);
    TRY(store_execute(call, store, NO_TENANT, &sql_worker_delete, &values, &changed));
    return changed == 0 ? fail_not_found(call, name) : STATUS_OK;
}

Status
workers_forget(Call *call, Store *store, uint64_t age_s, uint64_t *ret_count)
{
    Values values = {0};
    values_int64(&values, (int64_t)age_s);
    return store_execute(call, store, NO_TENANT, &sql_worker_forget, &values, ret_count);
}
