/* watchEvents: streams the events of all sessions of the tenant. */
#include "gateway/events/event_stream.h"
#include "gateway/handlers/parts.h"

static void
start_watch_events(Exchange *exchange)
{
    const Request *request = exchange_request(exchange);
    EventStreamOptions options;
    Status status = event_stream_read(exchange_call(exchange), request, EVENT_POSITION_NOW, &options);
    if (status == STATUS_OK) {
        status = event_stream_open(request->parts->events, exchange, &options);
    }
    if (status == STATUS_OK) {
        exchange_finish(exchange);
    } else {
        exchange_fail(exchange, status);
    }
}

HANDLER(watch_events) = {
    .operation_id = "watchEvents",
    .method = "GET",
    .path = "/api/v1/events",
    .access = ACCESS_TENANT,
    .takes_tickets = true,
    .start = start_watch_events,
};
