/* Session places: where a session keeps its variables. Each place of a session is bound to one life of one
 * worker.
 *
 * Ownership: texts live in the record or in call->arena.
 * Threads:   the thread of the Store.
 * Errors:    NOT_FOUND when the session does not exist. */
#pragma once

#include "gateway/store/connection.h"

enum { PLACE_COUNT_MAX = 16, PLACE_WORKER_SIZE = 64, PLACE_INCARNATION_SIZE = 17, PLACE_TASK_NONE = -1 };

typedef struct SessionPlace {
    int32_t task; /* the task that its nodes asked for; PLACE_TASK_NONE: nodes that asked for none */
    int64_t epoch;
    char worker[PLACE_WORKER_SIZE];
    char incarnation[PLACE_INCARNATION_SIZE];
    uint64_t bound_us;
    char lost_worker[PLACE_WORKER_SIZE]; /* the worker whose loss ended the epoch before; "": this is the
                                          * first */
} SessionPlace;

typedef struct SessionPlaces {
    SessionPlace items[PLACE_COUNT_MAX];
    size_t count;
} SessionPlaces;

MUST_USE Status places_list(
    Call *call, Store *store, TenantId tenant, SessionId session, SessionPlaces *ret_places);

/* Lists the lives of workers that keep variables of this session, or of any session of the tenant for the
 * zero id; in the call's arena. */
typedef struct PlaceWorker {
    const char *name;
    const char *incarnation;
} PlaceWorker;
MUST_USE Status places_workers(Call *call, Store *store, TenantId tenant, SessionId session,
    PlaceWorker **ret_workers, size_t *ret_count);

/* Binds a place that is not bound to `place->worker` and `place->incarnation`. A binding that another
 * gateway has made meanwhile stays. */
MUST_USE Status places_bind(
    Call *call, Store *store, TenantId tenant, SessionId session, const SessionPlace *place);

/* Binds the place to another worker, unless another gateway has done so since `epoch`. */
MUST_USE Status places_rebind(
    Call *call, Store *store, TenantId tenant, SessionId session, const SessionPlace *place, int64_t epoch);
