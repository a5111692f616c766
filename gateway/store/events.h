/* What happened to a tenant's things, numbered without gap in the order of commits.
 *
 * Ownership: texts live in call->arena. */
#pragma once

#include "gateway/store/connection.h"

typedef struct Event {
    int64_t sequence; /* 1, 2, 3 … of the tenant */
    uint64_t at_us;
    const char *kind; /* "step.succeeded" */
    Uuid subject;     /* what it is about; zero for nothing in particular */
    const char *data; /* a JSON object */
} Event;

typedef struct EventList {
    Event *items;
    size_t count;
} EventList;

/* `event` gives kind, subject and data. Until the transaction ends, other appends of the tenant wait: append
 * last. */
MUST_USE Status events_append(
    Call *call, Store *store, TenantId tenant, const Event *event, int64_t *ret_sequence);

/* Up to 1000 events behind `after`, of one subject when that is not zero. */
MUST_USE Status events_list(
    Call *call, Store *store, TenantId tenant, int64_t after, Uuid subject, EventList *ret_list);
