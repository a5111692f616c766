/* updateSession: changes the name and the options of the session version that the client has read:
 * If-Match is required. A member that is absent stays; options are replaced as a whole. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/sessions/session_cache.h"
#include "gateway/sessions/session_json.h"
#include "gateway/sessions/session_options.h"
#include "gateway/store/sessions.h"

static Status
run_update_session(Call *call, const Request *request, Response *response)
{
    TenantId tenant = request->principal.tenant;
    Store *store = NULL;
    SessionId id;
    SessionBody body;
    Session session;
    SessionPlaces places;
    TRY(session_id_read(call, request, &id));
    TRY(session_body_read(call, request->body, request->parts->limits, &body));
    TRY(request_store(call, request, &store));
    TRY(sessions_find(call, store, tenant, id, &session));
    Session wanted = {.id = id, .name = body.name, .options = body.options, .version = session.version};
    TRY(version_match(call, request, response, session.version, true));
    TRY(version_lost(response, sessions_update(call, store, tenant, &wanted, &session)));
    session_cache_drop(request->parts->sessions, tenant, id);
    TRY(places_list(call, store, tenant, id, &places));
    session_write(response, &session, &places);
    return STATUS_OK;
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(update_session) = {
    .operation_id = "updateSession",
    .method = "PATCH",
    .path = "/api/v1/sessions/{session}",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)64 << 10,
    .body_types = body_types,
    .run = run_update_session,
};
