/* Events: what happened to a tenant's sessions, graphs and steps. Triggers write them in the transaction of
 * what they tell (migrations/0017_events.sql).
 *
 * A position is passed only when no transaction can still write an event before it: whoever goes on from a
 * page's end misses nothing and reads nothing twice, whichever gateway it asks.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store. */
#pragma once

#include "gateway/store/connection.h"

/* A place between two events, behind the one that it names. Number 0 of a transaction is before all its
 * events. */
typedef struct EventPosition {
    uint64_t transaction;
    uint64_t number;
} EventPosition;

/* The place behind whatever has happened. */
#define EVENT_POSITION_NOW ((EventPosition){.transaction = INT64_MAX})

/* Events of one session, of one step (with its session), or of all, when both are zero. */
typedef struct EventScope {
    SessionId session;
    StepId step;
} EventScope;

typedef struct Event {
    TenantId tenant;
    SessionId session;
    StepId step; /* zero: it is about no step */
    EventPosition position;
    const char *kind;     /* "step.succeeded", "session.deleted" */
    const char *document; /* a JSON object, on one line */
} Event;

/* Up to `count_max` events behind a position. */
typedef struct EventRange {
    EventPosition after;
    size_t count_max;
} EventRange;

typedef struct EventPage {
    Event *items;
    size_t count;
    bool has_more;
    EventPosition end; /* where to go on; of EVENT_POSITION_NOW, the present */
    uint64_t removed;  /* the newest transaction of which events are gone */
} EventPage;

int event_position_compare(EventPosition left, EventPosition right);

/* Returns whether events behind the position may have been removed. */
bool event_position_is_lost(EventPosition position, const EventPage *page);

/* Returns whether nothing can follow in this scope: its step has ended, its session is gone. */
bool event_is_last(const Event *event, const EventScope *scope);

/* Lists a tenant's events in a range, oldest first. */
MUST_USE Status events_list(Call *call, Store *store, TenantId tenant, const EventScope *scope,
    const EventRange *range, EventPage *ret_page);

/* Lists those of several tenants. For a store of the role QUEUE. */
MUST_USE Status events_watch(Call *call, Store *store, const TenantId *tenants, size_t tenant_count,
    const EventRange *range, EventPage *ret_page);

/* Removes up to `count_max` events that are older. For a store of the role QUEUE. */
MUST_USE Status events_remove(
    Call *call, Store *store, uint64_t age_ms, size_t count_max, uint64_t *ret_count);
