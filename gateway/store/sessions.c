#include "gateway/store/sessions.h"

#include <assert.h>

#include "gateway/store/tenants.h"

STATEMENT(session_insert);
STATEMENT(session_find);
STATEMENT(session_list);
STATEMENT(session_update);
STATEMENT(session_delete);
STATEMENT(session_steps_cancel);

static Status
read_session(Call *call, const Rows *rows, size_t row, Session *ret_session)
{
    Session session;
    RowReader reader = row_reader(call, rows, row);
    session.id.value = row_uuid(&reader);
    session.name = row_text(&reader);
    session.options = row_text(&reader);
    session.version = row_int64(&reader);
    session.created_us = row_time_us(&reader);
    session.updated_us = row_time_us(&reader);
    TRY(row_end(call, &reader));
    *ret_session = session;
    return STATUS_OK;
}

static void
add_identity(Values *values, TenantId tenant, SessionId id)
{
    values_uuid(values, tenant.value);
    values_uuid(values, id.value);
}

static Status
fail_not_found(Call *call, SessionId id)
{
    char text[ID_TEXT_SIZE];
    id_to_text("ses", id.value, text);
    return call_fail(call, STATUS_NOT_FOUND, "session '%s' does not exist", text);
}

static Status
insert_session(Call *call, Store *store, TenantId tenant, const Session *session, Session *ret_session)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    TRY(quotas_lock(call, store, tenant, "sessions_max"));
    add_identity(&values, tenant, session->id);
    values_text(&values, session->name);
    values_text(&values, session->options);
    TRY(store_query(call, store, tenant, &sql_session_insert, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the quota 'sessions_max' is used up");
    }
    return read_session(call, &rows, 0, ret_session);
}

Status
sessions_create(Call *call, Store *store, TenantId tenant, const Session *session, Session *ret_session)
{
    assert(session->name != NULL && session->options != NULL);

    if (store_is_in_transaction(store)) {
        return insert_session(call, store, tenant, session, ret_session);
    }
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(insert_session(call, store, tenant, session, ret_session));
    return store_commit(call, TAKE(transaction));
}

Status
sessions_find(Call *call, Store *store, TenantId tenant, SessionId id, Session *ret_session)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, id);
    TRY(store_query(call, store, tenant, &sql_session_find, &values, &rows));
    return rows.count == 0 ? fail_not_found(call, id) : read_session(call, &rows, 0, ret_session);
}

Status
sessions_list(Call *call, Store *store, TenantId tenant, const Page *page, SessionPage *ret_page)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_uuid(&values, page->before);
    values_int64(&values, (int64_t)page_size(page) + 1);
    TRY(store_query(call, store, tenant, &sql_session_list, &values, &rows));
    SessionPage found = {.has_more = rows.count > page_size(page)};
    found.count = rows.count - found.has_more;
    found.items = arena_alloc(call->arena, (found.count + 1) * sizeof *found.items);
    if (found.items == NULL) {
        return call_fail_memory(call, "a page of sessions");
    }
    for (size_t index = 0; index < found.count; index++) {
        TRY(read_session(call, &rows, index, &found.items[index]));
    }
    *ret_page = found;
    return STATUS_OK;
}

/* Finds out why nothing was changed: the session does not exist, or has another version. */
static Status
fail_unchanged(Call *call, Store *store, TenantId tenant, SessionId id, int64_t version)
{
    Session session = {0};
    TRY(sessions_find(call, store, tenant, id, &session));
    return call_fail(call, STATUS_ABORTED, "the session has version %lld, not %lld",
        (long long)session.version, (long long)version);
}

Status
sessions_update(Call *call, Store *store, TenantId tenant, const Session *session, Session *ret_session)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, session->id);
    values_int64(&values, session->version);
    values_text(&values, session->name);
    values_text(&values, session->options);
    TRY(store_query(call, store, tenant, &sql_session_update, &values, &rows));
    return rows.count == 0 ? fail_unchanged(call, store, tenant, session->id, session->version)
                           : read_session(call, &rows, 0, ret_session);
}

Status
sessions_delete(Call *call, Store *store, TenantId tenant, SessionId id, int64_t version)
{
    uint64_t changed = 0;
    Values deleted = {0};
    Values cancelled = {0};
    add_identity(&deleted, tenant, id);
    add_identity(&cancelled, tenant, id);
    values_int64(&deleted, version);
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(store_execute(call, store, tenant, &sql_session_delete, &deleted, &changed));
    if (changed == 0) {
        return fail_unchanged(call, store, tenant, id, version);
    }
    TRY(store_execute(call, store, tenant, &sql_session_steps_cancel, &cancelled, NULL));
    return store_commit(call, TAKE(transaction));
}
