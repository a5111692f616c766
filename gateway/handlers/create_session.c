/* createSession: a new scope for graphs and runs. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/idempotent.h"
#include "gateway/resources/resource.h"
#include "gateway/sessions/session_json.h"
#include "gateway/sessions/session_options.h"
#include "gateway/store/sessions.h"

static Status
make_session(Call *call, const Request *request, Response *response, void *context)
{
    (void)context;
    SessionBody body;
    Session session;
    Store *store = NULL;
    TRY(session_body_read(call, request->body, request->parts->limits, &body));
    Session wanted = {
        .id = {uuid_new()},
        .name = body.name == NULL ? "" : body.name,
        .options = body.options == NULL ? "{}" : body.options,
    };
    TRY(request_store(call, request, &store));
    TRY(sessions_create(call, store, request->principal.tenant, &wanted, &session));
    char id[ID_TEXT_SIZE];
    id_to_text("ses", session.id.value, id);
    response_status(response, 201);
    response_header_format(response, "Location", "/api/v1/sessions/%s", id);
    session_write(response, &session, &(SessionPlaces){0});
    return STATUS_OK;
}

static Status
run_create_session(Call *call, const Request *request, Response *response)
{
    return idempotent_run(
        call, request, response, &(IdempotentWork){.commit = make_session, .queue = request->parts->queue});
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(create_session) = {
    .operation_id = "createSession",
    .method = "POST",
    .path = "/api/v1/sessions",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)64 << 10,
    .body_types = body_types,
    .run = run_create_session,
};
