#include "gateway/store/places.h"

#include <assert.h>
#include <stdio.h>

STATEMENT(place_list);
STATEMENT(place_bind);
STATEMENT(place_rebind);
STATEMENT(place_workers);

static Status
read_place(Call *call, const Rows *rows, size_t row, SessionPlace *ret_place)
{
    SessionPlace place;
    RowReader reader = row_reader(call, rows, row);
    place.task = (int32_t)row_int64(&reader);
    place.epoch = row_int64(&reader);
    const char *worker = row_text(&reader);
    const char *incarnation = row_text(&reader);
    place.bound_us = row_time_us(&reader);
    const char *lost_worker = row_text(&reader);
    TRY(row_end(call, &reader));
    (void)snprintf(place.worker, sizeof place.worker, "%s", worker);
    (void)snprintf(place.incarnation, sizeof place.incarnation, "%s", incarnation);
    (void)snprintf(place.lost_worker, sizeof place.lost_worker, "%s", lost_worker);
    *ret_place = place;
    return STATUS_OK;
}

Status
places_list(Call *call, Store *store, TenantId tenant, SessionId session, SessionPlaces *ret_places)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, session.value);
    TRY(store_query(call, store, tenant, &sql_place_list, &values, &rows));
    if (rows.count > PLACE_COUNT_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the session keeps variables in %zu places, "
            "at most %d are possible",
            rows.count, PLACE_COUNT_MAX);
    }
    SessionPlaces places = {.count = rows.count};
    for (size_t index = 0; index < rows.count; index++) {
        TRY(read_place(call, &rows, index, &places.items[index]));
    }
    *ret_places = places;
    return STATUS_OK;
}

Status
places_workers(Call *call, Store *store, TenantId tenant, SessionId session, PlaceWorker **ret_workers,
    size_t *ret_count)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, session.value);
    TRY(store_query(call, store, tenant, &sql_place_workers, &values, &rows));
    PlaceWorker *workers = arena_alloc(call->arena, (rows.count + 1) * sizeof *workers);
    if (workers == NULL) {
        return call_fail_memory(call, "the workers of a session");
    }
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        workers[index].name = row_text(&reader);
        workers[index].incarnation = row_text(&reader);
        TRY(row_end(call, &reader));
    }
    *ret_workers = workers;
    *ret_count = rows.count;
    return STATUS_OK;
}

static void
add_place(Values *values, TenantId tenant, SessionId session, const SessionPlace *place)
{
    values_uuid(values, tenant.value);
    values_uuid(values, session.value);
    values_int64(values, place->task);
    values_text(values, place->worker);
    values_text(values, place->incarnation);
}

Status
places_bind(Call *call, Store *store, TenantId tenant, SessionId session, const SessionPlace *place)
{
    assert(place->worker[0] != '\0');

    Values values = {0};
    add_place(&values, tenant, session, place);
    return store_execute(call, store, tenant, &sql_place_bind, &values, NULL);
}

Status
places_rebind(
    Call *call, Store *store, TenantId tenant, SessionId session, const SessionPlace *place, int64_t epoch)
{
    assert(place->worker[0] != '\0');

    Values values = {0};
    add_place(&values, tenant, session, place);
    values_int64(&values, epoch);
    return store_execute(call, store, tenant, &sql_place_rebind, &values, NULL);
}
