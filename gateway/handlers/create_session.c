/* createSession: a new scope for graphs and runs. */
#include "gateway/services/gateway.h"
#include "gateway/services/resource_json.h"
#include "gateway/store/sessions.h"
#include "shared/base/text.h"
#include "shared/json/document.h"

typedef struct Body {
    const char *name;
    Slice options;
} Body;

static Status
run(Call *call, const Request *request, Response *response)
{
    static const JsonField fields[] = {
        {.name = "name", .type = JSON_FIELD_STRING, .offset = offsetof(Body, name), .maximum = 200},
        {.name = "options", .type = JSON_FIELD_RAW, .offset = offsetof(Body, options)},
    };
    Body body = {.name = "", .options = SLICE("{}")};
    PlanOptions options;
    Session session;
    Store *store = NULL;
    if (request->body.size > 0) {
        TRY(json_document_read(call, request->body, fields, COUNT_OF(fields), &body));
    }
    TRY(session_options_read(call, body.options, &options));
    const Session wanted = {
        .id = {uuid_new()},
        .name = body.name,
        .options = text_copy(call->arena, body.options),
    };
    TRY(request_store(call, request, &store));
    TRY(sessions_create(call, store, request->principal.tenant, &wanted, &session));
    char id[ID_TEXT_SIZE];
    id_to_text("ses", session.id.value, id);
    response_status(response, 201);
    response_header_format(response, "Location", "/api/v1/sessions/%s", id);
    session_write(response, &session);
    return STATUS_OK;
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(create_session) = {
    .operation_id = "createSession",
    .method = "POST",
    .path = "/api/v1/sessions",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)64 << 10,
    .body_types = body_types,
    .run = run,
};
