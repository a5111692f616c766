/* listSessions: lists the tenant's sessions, newest first. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/paging.h"
#include "gateway/resources/resource.h"
#include "gateway/sessions/session_json.h"
#include "gateway/store/sessions.h"

static Status
run_list_sessions(Call *call, const Request *request, Response *response)
{
    Store *store = NULL;
    Page page;
    SessionPage sessions;
    TRY(paging_read(call, request, request->parts->limits, &page));
    TRY(request_store(call, request, &store));
    TRY(sessions_list(call, store, request->principal.tenant, &page, &sessions));
    JsonWriter writer = paging_begin(response, "sessions");
    for (size_t index = 0; index < sessions.count; index++) {
        session_write_item(&writer, &sessions.items[index]);
    }
    const Uuid *last = sessions.has_more ? &sessions.items[sessions.count - 1].id.value : NULL;
    paging_end(call, request, response, &writer, last);
    return STATUS_OK;
}

HANDLER(list_sessions) = {
    .operation_id = "listSessions",
    .method = "GET",
    .path = "/api/v1/sessions",
    .access = ACCESS_TENANT,
    .run = run_list_sessions,
};
