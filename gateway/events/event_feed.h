/* The feed of a gateway reads new events of all tenants that somebody watches, on a thread of its own, and
 * hands them to the loops that have streams: one statement every EVENT_FEED_PAUSE_MS for all streams
 * together, and none while there is no stream. It also tells the loops of keys whose streams must end.
 *
 * Ownership: batches belong to the feed; a receiver reads one while it is called.
 * Threads:   event_feed_join() before the loops run, event_feed_leave() when they have ended; watching any
 * thread; `take` on the receiver's loop.
 * Errors:    event_feed_new(): UNAVAILABLE for the thread. An unreachable PostgreSQL is no error: the feed
 * goes on from where it was. */
#pragma once

#include "gateway/store/events.h"
#include "shared/base/buffer.h"
#include "shared/net/loop.h"

enum { EVENT_FEED_PAUSE_MS = 200, EVENT_RECEIVERS_MAX = 64, EVENT_KEY_SIZE = 64 };

typedef struct EventFeed EventFeed;

/* An event with its text. */
typedef struct EventItem {
    TenantId tenant;
    SessionId session;
    StepId step;
    EventPosition position;
    const char *kind;
    size_t offset; /* of the frame in EventBatch.text */
    size_t size;
} EventItem;

typedef struct EventBatch {
    unsigned reference_count; /* atomic */
    EventPosition end;        /* all before it has been handed on; zero: the batch is about a key */
    EventItem *items;
    size_t count;
    Buffer text;
    Buffer kinds;
    bool has_gap;             /* something before it has not been handed on: whoever reads must read again */
    bool ends_all;            /* streams of all keys end */
    char key[EVENT_KEY_SIZE]; /* streams of this key end; "" for none */
} EventBatch;

typedef struct EventReceiver EventReceiver;

struct EventReceiver {
    Task task; /* first */
    Loop *loop;
    void (*take)(EventReceiver *receiver, const EventBatch *batch);

    /* the feed's */
    EventFeed *feed;
    EventBatch *pending[16];
    size_t pending_count;
    bool is_posted;
    bool has_lost; /* there was no room for a batch */
};

MUST_USE Status event_feed_new(Call *call, const char *conninfo, EventFeed **ret_feed);
void event_feed_stop(EventFeed *feed); /* ends the thread; NULL is allowed, here and below */
void event_feed_free(EventFeed *feed); /* after the loops have ended */

void event_feed_join(EventFeed *feed, EventReceiver *receiver);
void event_feed_leave(EventReceiver *receiver); /* before its loop and its memory end */

/* Begins to watch a tenant, for one stream more. *ret_count is how many it has then. False without memory. */
MUST_USE bool event_feed_watch(EventFeed *feed, TenantId tenant, size_t *ret_count);
void event_feed_unwatch(EventFeed *feed, TenantId tenant);

/* Returns whether all events of the tenant behind this position come from the feed. Until then a stream reads
 * the database by itself. */
bool event_feed_follows(EventFeed *feed, TenantId tenant, EventPosition position);

/* Ends the streams that were opened with this key; empty: all of them. They are opened again by who may. */
void event_feed_end_key(EventFeed *feed, Slice key);
