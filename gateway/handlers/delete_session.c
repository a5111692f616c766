/* deleteSession: removes a session with its graphs; its queued and running steps are cancelled. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/replicas/replica_mail.h"
#include "gateway/resources/resource.h"
#include "gateway/sessions/session_places.h"
#include "gateway/store/sessions.h"

static Status
run_delete_session(Call *call, const Request *request, Response *response)
{
    const Parts *parts = request->parts;
    Store *store = NULL;
    SessionId id;
    Session session;
    SessionPlaces places;
    TRY(session_id_read(call, request, &id));
    TRY(request_store(call, request, &store));
    TRY(sessions_find(call, store, request->principal.tenant, id, &session));
    TRY(version_match(call, request, response, session.version, false));
    TRY(places_list(call, store, request->principal.tenant, id, &places));
    /* A request without If-Match deletes any version. */
    int64_t version = request_header(request, "If-Match").data == NULL ? 0 : session.version;
    TRY(version_lost(response, sessions_delete(call, store, request->principal.tenant, id, version)));
    replica_mail_session_deleted(call, parts->mail, store, request->principal.tenant, id);
    session_places_release(
        parts->loop, parts->dispatcher, parts->directory, request->principal.tenant, id, &places);
    response_status(response, 204);
    return STATUS_OK;
}

HANDLER(delete_session) = {
    .operation_id = "deleteSession",
    .method = "DELETE",
    .path = "/api/v1/sessions/{session}",
    .access = ACCESS_TENANT,
    .run = run_delete_session,
};
