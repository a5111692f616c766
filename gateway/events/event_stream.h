/* Streams of events to clients (server-sent events), one an open request. A stream begins by reading the
 * database, from the position that its client names, and goes on with what the feed brings (event_feed.h). It
 * reads the database again when it has missed something: its client read slowly, or the feed had a gap.
 *
 * An idle stream costs its connection and a few hundred bytes; every EVENT_BEAT_MS it is sent a frame that
 * moves the client's position on, so that the client finds where to go on however long nothing happened. A
 * client that reads slowly has EVENT_QUEUE_SIZE bytes and one batch waiting, no more.
 *
 * Ownership: an EventStreams belongs to its loop; a stream to itself: it ends with its request.
 * Threads:   the loop's.
 * Errors:    RESOURCE_EXHAUSTED above the limit event_streams; UNAVAILABLE while the gateway drains. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/events/event_feed.h"
#include "gateway/http/exchange.h"
#include "gateway/jobs/job_pool.h"
#include "shared/base/map.h"

enum { EVENT_BEAT_MS = 15000, EVENT_QUEUE_SIZE = 16 * 1024 };

typedef struct EventStreams {
    EventReceiver receiver; /* first */
    EventFeed *feed;
    JobPool *jobs;
    const Limits *limits;
    Map *audiences;     /* tenant → EventAudience */
    ListLink due;       /* streams that are to read the database with the next batch */
    Timer beat;         /* set while there is a stream */
    EventPosition told; /* live streams have been sent all events before it */
    size_t count;
    bool is_draining;
} EventStreams;

typedef struct EventStreamOptions {
    EventScope scope;
    EventPosition since; /* EVENT_POSITION_NOW: events from now on */
    bool is_resumed;     /* the client named the position: it is told when events behind it may be gone */
} EventStreamOptions;

/* False without memory. */
MUST_USE bool event_streams_init(
    EventStreams *streams, EventFeed *feed, JobPool *jobs, const Limits *limits, Loop *loop);
void event_streams_done(EventStreams *streams); /* when no request is left and the job threads have ended */

/* Ends all streams, and refuses new ones: their clients go to another gateway. */
void event_streams_drain(EventStreams *streams);

/* Reads Last-Event-ID, or ?last_event_id= for a page that begins anew; else the stream begins at `fallback`.
 */
MUST_USE Status event_stream_read(
    Call *call, const Request *request, EventPosition fallback, EventStreamOptions *ret_options);

/* Makes the exchange's response a stream, to be sent by exchange_finish(). */
MUST_USE Status event_stream_open(
    EventStreams *streams, Exchange *exchange, const EventStreamOptions *options);
