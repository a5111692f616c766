/* watchSession: streams the events of a session, its graphs and its steps, until it is deleted. */
#include "gateway/events/event_stream.h"
#include "gateway/handlers/parts.h"
#include "gateway/resources/resource.h"
#include "gateway/store/sessions.h"

static Status
find_session(Call *call, JobContext *job_context, void *owner)
{
    const Request *request = exchange_request(owner);
    SessionId id;
    Session session;
    Store *store = NULL;
    (void)job_context;
    TRY(session_id_read(call, request, &id));
    TRY(request_store(call, request, &store));
    return sessions_find(call, store, request->principal.tenant, id, &session);
}

static Status
open_stream(Exchange *exchange)
{
    Call *call = exchange_call(exchange);
    const Request *request = exchange_request(exchange);
    EventStreamOptions options;
    TRY(event_stream_read(call, request, EVENT_POSITION_NOW, &options));
    TRY(session_id_read(call, request, &options.scope.session));
    return event_stream_open(request->parts->events, exchange, &options);
}

static void
session_is_found(Exchange *exchange, Status status, void *owner)
{
    (void)owner;
    if (status == STATUS_OK) {
        status = open_stream(exchange);
    }
    if (status == STATUS_OK) {
        exchange_finish(exchange);
    } else {
        exchange_fail(exchange, status);
    }
}

static void
start_watch_session(Exchange *exchange)
{
    if (!exchange_offload(exchange, find_session, session_is_found, exchange)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}

HANDLER(watch_session) = {
    .operation_id = "watchSession",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/events",
    .access = ACCESS_TENANT,
    .takes_tickets = true,
    .start = start_watch_session,
};
