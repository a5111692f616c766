/* listJobs: lists the tenant's steps of all sessions, newest first, deleted sessions included. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/steps/step_page.h"

static Status
run_list_jobs(Call *call, const Request *request, Response *response)
{
    static const char *const names[] = {"state", "session", "page_size", "page_token", NULL};
    SessionId session = {0};
    Slice text = request_query(request, "session");
    TRY(request_query_allow(call, request, names));
    if (text.data != NULL && !id_from_text("ses", text, &session.value)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "session '%.*s' is no id of a session",
            SLICE_PRINT(slice_part(text, 0, 64)));
    }
    return step_page_answer(call, request, request->parts->limits, response, session);
}

HANDLER(list_jobs) = {
    .operation_id = "listJobs",
    .method = "GET",
    .path = "/api/v1/steps",
    .access = ACCESS_TENANT,
    .run = run_list_jobs,
};
