/* Places of a session: each slot of a plan that keeps variables is bound to one life of one worker, in the
 * database (table session_places), so that all gateways agree. A binding whose worker is lost is replaced
 * by one that begins with nothing.
 *
 * Threads:   any; binding waits for the database: job threads only.
 * Errors:    UNAVAILABLE when no worker can take a place; ABORTED when the session was deleted meanwhile. */
#pragma once

#include "gateway/dispatch/step.h"
#include "gateway/domain/replica.h"
#include "gateway/jobs/job_context.h"
#include "gateway/sessions/session_cache.h"

/* The parts that binding works with; borrowed. */
typedef struct PlaceBinder {
    SessionCache *sessions;
    Directory *directory;
    const Replica *replica;
} PlaceBinder;

/* Returns whether some slot of the plan keeps variables. */
bool session_places_are_needed(const Plan *plan);

/* Makes the plan's pins, one a slot, in call->arena. *session is replaced by a newer snapshot when a place
 * had to be bound. Without a job context (on the loop) none can be bound, and *ret_pins stays when one must
 * be. */
MUST_USE Status session_places_take(Call *call, const PlaceBinder *binder, const Plan *plan,
    SessionSnapshot **session, JobContext *context, const StepPin **ret_pins);

/* Tells the workers that keep something of a deleted session, from this loop. Any thread. Without memory
 * nobody is told: workers forget by themselves what is not used. */
void session_places_release(Loop *loop, Dispatcher *dispatcher, Directory *directory, TenantId tenant,
    SessionId session, const SessionPlaces *places);
