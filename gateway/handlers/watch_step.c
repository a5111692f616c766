/* watchStep: streams the events of a step, from its first one on, until it has ended. 204 says that nothing
 * follows: a browser's EventSource then does not come again. */
#include "gateway/events/event_stream.h"
#include "gateway/handlers/parts.h"
#include "gateway/replicas/step_lookup.h"
#include "gateway/resources/resource.h"
#include "shared/base/clock.h"

enum {
    STEP_EVENTS_MAX = 100,
    /* After this time the event of an end is there, or was removed. */
    SETTLED_US = 10 * 1000 * 1000,
};

/* Reads where the stream begins. */
static Status
read_options(Call *call, const StepLookup *lookup, EventStreamOptions *ret_options)
{
    TRY(event_stream_read(call, exchange_request(lookup->exchange), (EventPosition){0}, ret_options));
    ret_options->scope = (EventScope){.session = lookup->inquiry.session, .step = lookup->inquiry.id};
    return STATUS_OK;
}

static Status
open_stream(StepLookup *lookup)
{
    Call *call = exchange_call(lookup->exchange);
    EventStreamOptions options;
    TRY(read_options(call, lookup, &options));
    return event_stream_open(exchange_request(lookup->exchange)->parts->events, lookup->exchange, &options);
}

static void
begin_stream(StepLookup *lookup)
{
    Status status = open_stream(lookup);
    if (status == STATUS_OK) {
        exchange_finish(lookup->exchange);
    } else {
        exchange_fail(lookup->exchange, status);
    }
}

static void
finish_told(StepLookup *lookup)
{
    exchange_finish(lookup->exchange);
}

/* Returns whether the client knows the end of an ended step already, or can read of it in the step alone. */
static bool
is_end_told(const EventPage *page, const EventStreamOptions *options, const StepRecord *step)
{
    for (size_t index = 0; index < page->count; index++) {
        if (event_is_last(&page->items[index], &options->scope)) {
            return options->is_resumed &&
                   event_position_compare(page->items[index].position, options->since) <= 0;
        }
    }
    return step->ended_us + SETTLED_US < clock_wall_us();
}

static Status
watch_step(Call *call, Store *store, StepLookup *lookup, const StepRecord *step)
{
    EventStreamOptions options;
    EventPage page;
    TRY(read_options(call, lookup, &options));
    if (store == NULL) {
        return open_stream(lookup);
    }
    lookup->next = begin_stream;
    if (!step_state_is_ended(step->state)) {
        return STATUS_OK;
    }
    EventRange range = {.count_max = STEP_EVENTS_MAX};
    TRY(events_list(call, store, step->tenant, &options.scope, &range, &page));
    if (is_end_told(&page, &options, step)) {
        response_status(exchange_response(lookup->exchange), 204);
        lookup->next = finish_told;
    }
    return STATUS_OK;
}

static void
start_watch_step(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    step_look_up(exchange, parts->mail, parts->steps, false, watch_step);
}

HANDLER(watch_step) = {
    .operation_id = "watchStep",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}/events",
    .access = ACCESS_TENANT,
    .takes_tickets = true,
    .start = start_watch_step,
};
