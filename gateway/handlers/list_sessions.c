/* listSessions: the tenant's sessions, newest first, in pages. */
#include "gateway/http/page.h"
#include "gateway/services/gateway.h"
#include "gateway/services/resource_json.h"
#include "gateway/store/sessions.h"

static Status
write_next(
    Call *call, const Request *request, Response *response, const SessionPage *page, JsonWriter *writer)
{
    if (!page->has_more) {
        return STATUS_OK;
    }
    const Uuid *const last = &page->items[page->count - 1].id.value;
    const char *const token = page_token(call, request, response, slice_of(last->bytes, sizeof last->bytes));
    if (token == NULL) {
        return call_fail_memory(call, "a page token");
    }
    json_member_string(writer, "next_page_token", token);
    return STATUS_OK;
}

static Status
run(Call *call, const Request *request, Response *response)
{
    Store *store = NULL;
    PageQuery query;
    Page page = {0};
    SessionPage found;
    TRY(page_parse(call, request, &query));
    if (query.after.size == sizeof page.before.bytes) {
        memcpy(page.before.bytes, query.after.data, query.after.size);
    }
    page.size = query.size;
    TRY(request_store(call, request, &store));
    TRY(sessions_list(call, store, request->principal.tenant, &page, &found));
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_write_name(&writer, "sessions");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < found.count; index++) {
        session_write_item(&writer, &found.items[index]);
    }
    json_write_array_end(&writer);
    TRY(write_next(call, request, response, &found, &writer));
    json_write_object_end(&writer);
    return STATUS_OK;
}

HANDLER(list_sessions) = {
    .operation_id = "listSessions",
    .method = "GET",
    .path = "/api/v1/sessions",
    .access = ACCESS_TENANT,
    .run = run,
};
