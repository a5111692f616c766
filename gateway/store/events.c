#include "gateway/store/events.h"

STATEMENT(event_append);
STATEMENT(event_list);

Status
events_append(Call *call, Store *store, TenantId tenant, const Event *event, int64_t *ret_sequence)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, event->kind);
    values_uuid(&values, event->subject);
    values_text(&values, event->data);
    TRY(store_query(call, store, tenant, &sql_event_append, &values, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    const int64_t sequence = row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_sequence = sequence;
    return STATUS_OK;
}

static Status
read_event(Call *call, const Rows *rows, size_t row, Event *ret_event)
{
    RowReader reader = row_reader(call, rows, row);
    ret_event->sequence = row_int64(&reader);
    ret_event->at_us = row_time_us(&reader);
    ret_event->kind = row_text(&reader);
    ret_event->subject = row_uuid(&reader);
    ret_event->data = row_text(&reader);
    return row_end(call, &reader);
}

Status
events_list(Call *call, Store *store, TenantId tenant, int64_t after, Uuid subject, EventList *ret_list)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_int64(&values, after);
    values_uuid(&values, subject);
    TRY(store_query(call, store, tenant, &sql_event_list, &values, &rows));
    EventList list = {.count = rows.count};
    list.items = arena_alloc(call->arena, (rows.count + 1) * sizeof *list.items);
    if (list.items == NULL) {
        return call_fail_memory(call, "a list of events");
    }
    for (size_t index = 0; index < rows.count; index++) {
        TRY(read_event(call, &rows, index, &list.items[index]));
    }
    *ret_list = list;
    return STATUS_OK;
}
