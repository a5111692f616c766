/* Where sessions keep their variables: which life of which worker each place of a session is bound to.
 *
 * Errors: NOT_FOUND when the session has gone. */
#pragma once

#include "gateway/store/connection.h"

enum { PLACE_COUNT_MAX = 16, PLACE_WORKER_SIZE = 64, PLACE_INCARNATION_SIZE = 17, PLACE_TASK_NONE = -1 };

typedef struct SessionPlace {
    int32_t task; /* that the nodes asked for; PLACE_TASK_NONE: all that asked for none */
    int64_t epoch;
    char worker[PLACE_WORKER_SIZE];
    char incarnation[PLACE_INCARNATION_SIZE];
    uint64_t bound_us;
    char lost_worker[PLACE_WORKER_SIZE]; /* whose loss ended the epoch before; "": this is the first */
} SessionPlace;

typedef struct SessionPlaces {
    SessionPlace items[PLACE_COUNT_MAX];
    size_t count;
} SessionPlaces;

MUST_USE Status places_list(
    Call *call, Store *store, TenantId tenant, SessionId session, SessionPlaces *ret_places);

/* The lives of workers that keep something of this session, of the zero one of any of the tenant's; in the
 * call's arena. */
typedef struct PlaceWorker {
    const char *name;
    const char *incarnation;
} PlaceWorker;
MUST_USE Status places_workers(Call *call, Store *store, TenantId tenant, SessionId session,
    PlaceWorker **ret_workers, size_t *ret_count);

/* Binds a place that is not bound, to `place->worker` and `place->incarnation`; one that somebody else has
 * bound meanwhile stays. */
MUST_USE Status places_bind(
    Call *call, Store *store, TenantId tenant, SessionId session, const SessionPlace *place);

/* Binds it to another worker, unless somebody else has done so since `epoch`. */
MUST_USE Status places_rebind(
    Call *call, Store *store, TenantId tenant, SessionId session, const SessionPlace *place, int64_t epoch);
