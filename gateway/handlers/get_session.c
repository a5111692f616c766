/* getSession: shows one session. */
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/sessions/session_json.h"
#include "gateway/store/sessions.h"

static Status
run_get_session(Call *call, const Request *request, Response *response)
{
    Store *store = NULL;
    SessionId id;
    Session session;
    SessionPlaces places;
    TRY(session_id_read(call, request, &id));
    TRY(request_store(call, request, &store));
    TRY(sessions_find(call, store, request->principal.tenant, id, &session));
    TRY(places_list(call, store, request->principal.tenant, id, &places));
    session_write(response, &session, &places);
    return STATUS_OK;
}

HANDLER(get_session) = {
    .operation_id = "getSession",
    .method = "GET",
    .path = "/api/v1/sessions/{session}",
    .access = ACCESS_TENANT,
    .run = run_get_session,
};
