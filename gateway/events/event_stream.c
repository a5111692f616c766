/* A stream begins by reading the database: a job thread does that from the stream's position on. Then it is
 * live: it is sent what batches of the feed bring. It is live only when the database was read to its end
 * after the last batch that it missed, and when the feed follows its tenant from there on
 * (event_feed_follows()).
 *
 * It becomes due, and reads the database again with the next batch, when it has missed one, when the feed
 * does not follow its tenant yet, and when a read has failed. While its client has much unread it is slow: it
 * reads again when that is gone. When nothing can follow it is over, and closes behind what is left. */
#include "gateway/events/event_stream.h"

#include <assert.h>
#include <string.h>

#include "gateway/events/event_frame.h"
#include "gateway/jobs/job_context.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    READ_MS = 10000, /* the time in which the database must answer */
    READ_MAX = 100,  /* events a read */
    READ_ARENA_SIZE_MAX = 8 << 20,
};

typedef enum StreamState { STREAM_READING, STREAM_DUE, STREAM_LIVE, STREAM_SLOW, STREAM_OVER } StreamState;

typedef struct EventAudience {
    ListLink streams;
} EventAudience;

typedef struct EventStream {
    ListLink siblings; /* in its tenant's audience */
    ListLink waiting;  /* in EventStreams.due */
    EventStreams *owner;
    HttpStream *http; /* NULL once it is closed */
    TenantId tenant;
    EventScope scope;
    EventPosition position; /* what its client has been sent, or will be told by the next beat */
    StreamState state;
    bool is_resumed;
    bool has_missed;
    char key[EVENT_KEY_SIZE];
    uint64_t key_expires_us; /* 0: never */

    Job job; /* while reading, which owns what follows */
    Status read_status;
    Buffer text;
    EventPosition read_end;
    bool has_more;
    bool is_over; /* nothing can follow */
} EventStream;

static void begin_reading(EventStream *stream);

static void
stream_free(EventStream *stream)
{
    buffer_done(&stream->text);
    memory_free(stream);
}

/* Begins to read with the next batch. */
static void
become_due(EventStream *stream)
{
    stream->state = STREAM_DUE;
    list_append(&stream->owner->due, &stream->waiting);
}

static Status
read_page(Call *call, JobContext *context, EventStream *stream)
{
    EventPage page;
    Store *store = NULL;
    if (call->arena == NULL) {
        return call_fail_memory(call, "events");
    }
    TRY(job_store(call, context, STORE_ROLE_APP, &store));
    EventRange range = {.after = stream->position, .count_max = READ_MAX};
    TRY(events_list(call, store, stream->tenant, &stream->scope, &range, &page));
    if (stream->is_resumed && event_position_compare(stream->position, page.end) > 0) {
        event_frame_write_reset(&stream->text, page.end); /* of another database, perhaps */
    } else if (stream->is_resumed && event_position_is_lost(stream->position, &page)) {
        event_frame_write_reset(&stream->text, stream->position);
    }
    for (size_t index = 0; index < page.count && !stream->is_over; index++) {
        event_frame_write(&stream->text, &page.items[index]);
        stream->is_over = event_is_last(&page.items[index], &stream->scope);
    }
    stream->read_end = page.end;
    stream->has_more = page.has_more;
    return buffer_is_ok(&stream->text) ? STATUS_OK : call_fail_memory(call, "events");
}

static void
read_on_job(Job *job, JobContext *context)
{
    EventStream *stream = LIST_ITEM(job, EventStream, job);
    AUTO_ARENA arena = arena_new(READ_ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + READ_MS * CLOCK_NS_PER_MS};
    stream->read_status = read_page(&call, context, stream);
    if (stream->read_status != STATUS_OK && stream->read_status != STATUS_UNAVAILABLE) {
        log_failure(LOG_WARNING, "a stream's events could not be read", &call);
    }
}

/* Sends what was read, and goes on. */
static void
take_read(EventStream *stream)
{
    const EventStreams *owner = stream->owner;
    stream->position = stream->read_end;
    stream->is_resumed = true; /* its client has been told of a position */
    (void)http_stream_copy(stream->http, buffer_slice(&stream->text));
    if (stream->is_over) {
        stream->state = STREAM_OVER;
        http_stream_end(stream->http);
    } else if (http_stream_is_full(stream->http)) {
        stream->state = STREAM_SLOW;
    } else if (stream->has_more) {
        begin_reading(stream);
    } else if (stream->has_missed || !event_feed_follows(owner->feed, stream->tenant, stream->position)) {
        become_due(stream);
    } else {
        stream->state = STREAM_LIVE;
    }
}

static void
read_is_done(Job *job)
{
    EventStream *stream = LIST_ITEM(job, EventStream, job);
    if (stream->http == NULL) {
        stream_free(stream);
    } else if (stream->read_status != STATUS_OK) {
        stream->is_over = false;
        become_due(stream);
    } else {
        take_read(stream);
    }
}

static void
begin_reading(EventStream *stream)
{
    stream->state = STREAM_READING;
    stream->has_missed = false;
    buffer_clear(&stream->text);
    stream->job = (Job){.loop = stream->owner->receiver.loop,
        .tenant = stream->tenant,
        .run = read_on_job,
        .done = read_is_done};
    if (!job_submit(stream->owner->jobs, &stream->job)) {
        become_due(stream);
    }
}

static void
stream_drained(HttpStream *http, void *owner)
{
    EventStream *stream = owner;
    (void)http;
    if (stream->state == STREAM_SLOW) {
        begin_reading(stream);
    }
}

static void
audience_leave(EventStream *stream)
{
    EventStreams *owner = stream->owner;
    Slice tenant = uuid_slice(&stream->tenant.value);
    EventAudience *audience = map_get(owner->audiences, tenant);
    list_remove(&stream->siblings);
    list_remove(&stream->waiting);
    if (list_is_empty(&audience->streams)) {
        (void)map_remove(owner->audiences, tenant);
        memory_free(audience);
    }
    event_feed_unwatch(owner->feed, stream->tenant);
    owner->count--;
}

static void
stream_closed(void *context, bool is_complete)
{
    EventStream *stream = context;
    (void)is_complete;
    audience_leave(stream);
    stream->http = NULL;
    if (stream->state != STREAM_READING) {
        stream_free(stream);
    }
}

/* Returns whether an event is in the stream's scope; its tenant is the audience's. */
static bool
stream_wants(const EventStream *stream, const EventItem *item)
{
    const EventScope *scope = &stream->scope;
    if (!uuid_is_zero(scope->step.value)) {
        return uuid_equal(scope->step.value, item->step.value);
    }
    return uuid_is_zero(scope->session.value) || uuid_equal(scope->session.value, item->session.value);
}

static void
send_item(EventStream *stream, const EventBatch *batch, const EventItem *item)
{
    if (stream->state == STREAM_READING) {
        stream->has_missed = true;
        return;
    }
    bool is_new = event_position_compare(stream->position, item->position) < 0;
    if (stream->state != STREAM_LIVE || !is_new || !stream_wants(stream, item)) {
        return;
    }
    if (http_stream_is_full(stream->http)) {
        stream->state = STREAM_SLOW;
        return;
    }
    Event event = {.session = item->session, .step = item->step, .kind = item->kind};
    stream->position = item->position;
    (void)http_stream_copy(stream->http, slice_of(batch->text.data + item->offset, item->size));
    if (event_is_last(&event, &stream->scope)) {
        stream->state = STREAM_OVER;
        http_stream_end(stream->http);
    }
}

/* Calls `visit` for each stream; it may not end one that is not the visited one. */
static void
streams_each(
    EventStreams *streams, void (*visit)(EventStream *stream, const void *context), const void *context)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(streams->audiences, &cursor); entry != NULL;
         entry = map_next(streams->audiences, &cursor)) {
        EventAudience *audience = entry->value;
        LIST_EACH(&audience->streams, link)
        {
            visit(LIST_ITEM(link, EventStream, siblings), context);
        }
    }
}

static void
end_stream(EventStream *stream, const void *context)
{
    const EventBatch *batch = context;
    if (batch == NULL || batch->ends_all || (batch->key[0] != '\0' && strcmp(batch->key, stream->key) == 0)) {
        http_stream_end(stream->http);
    }
}

static void
miss_batch(EventStream *stream, const void *context)
{
    (void)context;
    stream->has_missed = stream->state == STREAM_READING;
    if (stream->state == STREAM_LIVE) {
        become_due(stream);
    }
}

static void
read_due(EventStreams *streams)
{
    ListLink due;
    list_init(&due);
    list_move(&streams->due, &due);
    LIST_EACH(&due, link)
    {
        list_remove(link);
        begin_reading(LIST_ITEM(link, EventStream, waiting));
    }
}

static void
take_batch(EventReceiver *receiver, const EventBatch *batch)
{
    EventStreams *streams = LIST_ITEM(receiver, EventStreams, receiver);
    if (batch->ends_all || batch->key[0] != '\0') {
        streams_each(streams, end_stream, batch);
        return;
    }
    if (batch->has_gap) {
        streams_each(streams, miss_batch, NULL);
    }
    for (size_t index = 0; index < batch->count; index++) {
        const EventItem *item = &batch->items[index];
        EventAudience *audience = map_get(streams->audiences, uuid_slice(&item->tenant.value));
        if (audience != NULL) {
            LIST_EACH(&audience->streams, link)
            {
                send_item(LIST_ITEM(link, EventStream, siblings), batch, item);
            }
        }
    }
    streams->told = batch->end;
    read_due(streams);
}

/* Moves the client's position on; a connection whose peer is gone is noticed by it, too. A stream ends with
 * its key. */
static void
send_beat(EventStream *stream, const void *context)
{
    const EventStreams *streams = context;
    AUTO_BUFFER text = {0};
    if (stream->key_expires_us != 0 && stream->key_expires_us <= clock_wall_us()) {
        http_stream_end(stream->http);
        return;
    }
    if (stream->state != STREAM_LIVE || http_stream_is_full(stream->http)) {
        return;
    }
    if (event_position_compare(stream->position, streams->told) < 0) {
        stream->position = streams->told;
    }
    event_frame_write_id(&text, stream->position);
    (void)http_stream_copy(stream->http, buffer_slice(&text));
}

static void
beat(Timer *timer)
{
    EventStreams *streams = LIST_ITEM(timer, EventStreams, beat);
    streams_each(streams, send_beat, streams);
    if (streams->count > 0) {
        timer_set(streams->receiver.loop, timer,
            loop_now_ns(streams->receiver.loop) + EVENT_BEAT_MS * CLOCK_NS_PER_MS);
    }
}

bool
event_streams_init(EventStreams *streams, EventFeed *feed, JobPool *jobs, const Limits *limits, Loop *loop)
{
    *streams = (EventStreams){
        .receiver = {.loop = loop, .take = take_batch},
        .feed = feed,
        .jobs = jobs,
        .limits = limits,
        .audiences = map_new(),
        .beat.fire = beat,
    };
    list_init(&streams->due);
    if (streams->audiences != NULL) {
        event_feed_join(feed, &streams->receiver);
    }
    return streams->audiences != NULL;
}

void
event_streams_done(EventStreams *streams)
{
    assert(streams->count == 0);

    if (streams->audiences != NULL) {
        timer_clear(streams->receiver.loop, &streams->beat);
        event_feed_leave(&streams->receiver);
        map_free(streams->audiences);
    }
}

void
event_streams_drain(EventStreams *streams)
{
    streams->is_draining = true;
    streams_each(streams, end_stream, NULL);
}

Status
event_stream_read(Call *call, const Request *request, EventPosition fallback, EventStreamOptions *ret_options)
{
    static const char *const names[] = {"ticket", "last_event_id", NULL};
    EventStreamOptions options = {.since = fallback};
    TRY(request_query_allow(call, request, names));
    Slice id = request_header(request, "Last-Event-ID");
    id = id.size > 0 ? id : request_query(request, "last_event_id");
    if (id.size > 0) {
        TRY(event_frame_read_id(call, id, &options.since));
        options.is_resumed = true;
    }
    *ret_options = options;
    return STATUS_OK;
}

static EventAudience *
audience_obtain(EventStreams *streams, TenantId tenant)
{
    Slice id = uuid_slice(&tenant.value);
    EventAudience *audience = map_get(streams->audiences, id);
    if (audience == NULL) {
        audience = memory_new(1, sizeof *audience);
        if (audience != NULL) {
            list_init(&audience->streams);
        }
        if (audience != NULL && !map_put(streams->audiences, id, audience)) {
            memory_free(TAKE(audience));
        }
    }
    return audience;
}

/* Drops an audience that has got no stream. */
static void
audience_drop(EventStreams *streams, TenantId tenant)
{
    EventAudience *audience = map_get(streams->audiences, uuid_slice(&tenant.value));
    if (audience != NULL && list_is_empty(&audience->streams)) {
        (void)map_remove(streams->audiences, uuid_slice(&tenant.value));
        memory_free(audience);
    }
}

/* Lets a stream in, which is then counted, or says why not. */
static Status
audience_join(Call *call, EventStreams *streams, EventStream *stream)
{
    size_t count = 0;
    EventAudience *audience = audience_obtain(streams, stream->tenant);
    if (audience == NULL || !event_feed_watch(streams->feed, stream->tenant, &count)) {
        audience_drop(streams, stream->tenant);
        return call_fail_memory(call, "a stream of events");
    }
    if (count > streams->limits->event_streams) {
        event_feed_unwatch(streams->feed, stream->tenant);
        audience_drop(streams, stream->tenant);
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the tenant has %llu streams of events open on this gateway, the limit event_streams",
            (unsigned long long)streams->limits->event_streams);
    }
    list_append(&audience->streams, &stream->siblings);
    if (streams->count++ == 0) {
        streams->told = (EventPosition){0}; /* the feed may have rested */
        timer_set(streams->receiver.loop, &streams->beat,
            loop_now_ns(streams->receiver.loop) + EVENT_BEAT_MS * CLOCK_NS_PER_MS);
    }
    return STATUS_OK;
}

static EventStream *
stream_new(EventStreams *streams, const Principal *principal, const EventStreamOptions *options)
{
    static_assert(sizeof principal->key_id == EVENT_KEY_SIZE, "a key's id fits");
    EventStream *stream = memory_new(1, sizeof *stream);
    if (stream != NULL) {
        stream->owner = streams;
        stream->tenant = principal->tenant;
        stream->scope = options->scope;
        stream->position = options->since;
        stream->is_resumed = options->is_resumed;
        memcpy(stream->key, principal->key_id, sizeof stream->key);
        stream->key_expires_us = principal->expires_us;
        list_init(&stream->siblings);
        list_init(&stream->waiting);
    }
    return stream;
}

/* Lets a stream that is to begin now begin where live streams have got to: its client learns that it is open
 * before the database is asked where "now" is, and misses nothing that happens in between. The first stream
 * of a loop begins when the database has answered. */
static void
begin_behind_others(EventStream *stream)
{
    EventPosition told = stream->owner->told;
    if (event_position_compare(stream->position, EVENT_POSITION_NOW) == 0 && told.transaction > 0) {
        stream->position = told;
    }
}

Status
event_stream_open(EventStreams *streams, Exchange *exchange, const EventStreamOptions *options)
{
    static const HttpStreamEvents events = {.drained = stream_drained, .closed = stream_closed};
    Call *call = exchange_call(exchange);
    const Request *request = exchange_request(exchange);
    Response *response = exchange_response(exchange);
    if (streams->is_draining) {
        return call_fail(call, STATUS_UNAVAILABLE, "the gateway is shutting down");
    }
    response_header(response, "Cache-Control", "no-store");
    response_header(response, "X-Accel-Buffering", "no"); /* nginx then passes events on as they come */
    if (request_is_method(request, "HEAD")) {
        (void)response_body(response, "text/event-stream");
        return STATUS_OK;
    }
    EventStream *stream = stream_new(streams, &request->principal, options);
    if (stream == NULL) {
        return call_fail_memory(call, "a stream of events");
    }
    Status status = audience_join(call, streams, stream);
    if (status != STATUS_OK) {
        stream_free(stream);
        return status;
    }
    begin_behind_others(stream);
    stream->http = exchange_stream(exchange, "text/event-stream", &events, stream);
    http_stream_low(stream->http, EVENT_QUEUE_SIZE);
    (void)http_stream_copy(stream->http, SLICE("retry: 1000\n\n"));
    begin_reading(stream);
    return STATUS_OK;
}
