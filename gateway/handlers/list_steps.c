/* listSteps: lists the steps of one session, newest first. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/steps/step_page.h"
#include "gateway/store/sessions.h"

static Status
run_list_steps(Call *call, const Request *request, Response *response)
{
    static const char *const names[] = {"state", "page_size", "page_token", NULL};
    SessionId session;
    Store *store = NULL;
    Session found;
    TRY(session_id_read(call, request, &session));
    TRY(request_query_allow(call, request, names));
    TRY(request_store(call, request, &store));
    TRY(sessions_find(call, store, request->principal.tenant, session, &found));
    return step_page_answer(call, request, request->parts->limits, response, session);
}

HANDLER(list_steps) = {
    .operation_id = "listSteps",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps",
    .access = ACCESS_TENANT,
    .run = run_list_steps,
};
