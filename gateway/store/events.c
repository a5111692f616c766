#include "gateway/store/events.h"

#include <assert.h>
#include <string.h>

#include "gateway/domain/step_state.h"

STATEMENT(event_list);
STATEMENT(event_list_step);
STATEMENT(event_watch);
STATEMENT(event_remove);

int
event_position_compare(EventPosition left, EventPosition right)
{
    if (left.transaction != right.transaction) {
        return left.transaction < right.transaction ? -1 : 1;
    }
    return (left.number > right.number) - (left.number < right.number);
}

bool
event_position_is_lost(EventPosition position, const EventPage *page)
{
    return position.transaction <= page->removed;
}

bool
event_is_last(const Event *event, const EventScope *scope)
{
    static const char step_prefix[] = "step.";
    Slice kind = slice_from_string(event->kind);
    StepState state = STEP_QUEUED;
    if (uuid_is_zero(scope->step.value)) {
        return !uuid_is_zero(scope->session.value) && slice_equals_string(kind, "session.deleted");
    }
    bool is_state = slice_starts_with(kind, slice_from_string(step_prefix)) &&
                    step_state_from_name(slice_part(kind, sizeof step_prefix - 1, kind.size), &state);
    return is_state && step_state_is_ended(state);
}

static Status
read_event(Call *call, RowReader *reader, Event *ret_event)
{
    Event event = {.tenant = {row_uuid(reader)}};
    event.session.value = row_uuid(reader);
    event.step.value = row_uuid(reader);
    event.position.transaction = (uint64_t)row_int64(reader);
    event.position.number = (uint64_t)row_int64(reader);
    event.kind = row_text(reader);
    event.document = row_text(reader);
    TRY(row_end(call, reader));
    *ret_event = event;
    return STATUS_OK;
}

static Status
read_page(Call *call, const Rows *rows, size_t count_max, EventPage *ret_page)
{
    EventPage page = {0};
    assert(rows->count > 0);
    page.items = arena_alloc(call->arena, rows->count * sizeof *page.items);
    if (page.items == NULL) {
        return call_fail_memory(call, "a page of events");
    }
    for (size_t row = 0; row < rows->count; row++) {
        RowReader reader = row_reader(call, rows, row);
        page.end = (EventPosition){.transaction = (uint64_t)row_int64(&reader)};
        page.removed = (uint64_t)row_int64(&reader);
        TRY(read_event(call, &reader, &page.items[row]));
    }
    /* The one row of an empty page has no event. */
    page.count = page.items[0].position.number == 0 ? 0 : rows->count;
    page.has_more = page.count == count_max;
    page.end = page.has_more ? page.items[page.count - 1].position : page.end;
    *ret_page = page;
    return STATUS_OK;
}

static void
add_range(Values *values, const EventRange *range)
{
    assert(range->count_max > 0);

    values_int64(values, (int64_t)range->after.transaction);
    values_int64(values, (int64_t)range->after.number);
    values_int64(values, (int64_t)range->count_max);
}

Status
events_list(Call *call, Store *store, TenantId tenant, const EventScope *scope, const EventRange *range,
    EventPage *ret_page)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    bool is_step = !uuid_is_zero(scope->step.value);
    values_uuid(&values, tenant.value);
    values_uuid(&values, is_step ? scope->step.value : scope->session.value);
    add_range(&values, range);
    TRY(store_query(call, store, tenant, is_step ? &sql_event_list_step : &sql_event_list, &values, &rows));
    return read_page(call, &rows, range->count_max, ret_page);
}

Status
events_watch(Call *call, Store *store, const TenantId *tenants, size_t tenant_count, const EventRange *range,
    EventPage *ret_page)
{
    AUTO_ROWS rows = {0};
    AUTO_SQL_ARRAY ids = sql_array(SQL_UUID);
    Values values = {0};
    for (size_t index = 0; index < tenant_count; index++) {
        sql_array_uuid(&ids, tenants[index].value);
    }
    if (!values_array(&values, &ids)) {
        return call_fail_memory(call, "tenants whose events are watched");
    }
    add_range(&values, range);
    TRY(store_query(call, store, NO_TENANT, &sql_event_watch, &values, &rows));
    return read_page(call, &rows, range->count_max, ret_page);
}

Status
events_remove(Call *call, Store *store, uint64_t age_ms, size_t count_max, uint64_t *ret_count)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_int64(&values, (int64_t)age_ms);
    values_int64(&values, (int64_t)count_max);
    TRY(store_query(call, store, NO_TENANT, &sql_event_remove, &values, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    *ret_count = (uint64_t)row_int64(&reader);
    return row_end(call, &reader);
}
