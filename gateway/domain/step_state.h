/* The states of a step and the moves between them. The database refuses the same moves (the table
 * step_moves); a test compares the two.
 *
 *     queued → leased → running → succeeded | failed | cancelled | expired | dead
 *
 * and back to queued when a lease is lost or a failure may be retried, and from dead by redrive. */
#pragma once

#include <stdbool.h>

#include "shared/base/call.h"
#include "shared/base/slice.h"

/*   name, is where a step may begin, is an end */
#define STEP_STATES(X)                                                                                       \
    X(QUEUED, "queued", true, false)                                                                         \
    X(LEASED, "leased", false, false)                                                                        \
    X(RUNNING, "running", true, false)                                                                       \
    X(SUCCEEDED, "succeeded", false, true)                                                                   \
    X(FAILED, "failed", false, true)                                                                         \
    X(CANCELLED, "cancelled", false, true)                                                                   \
    X(EXPIRED, "expired", false, true)                                                                       \
    X(DEAD, "dead", false, true)

#define X(name, text, is_initial, is_ended) STEP_##name,
typedef enum StepState { STEP_STATES(X) STEP_STATE_COUNT } StepState;
#undef X

const char *step_state_name(StepState state);

/* False when no state is called `name`; `ret_state` is untouched then. */
bool step_state_from_name(Slice name, StepState *ret_state);

bool step_state_is_initial(StepState state);
bool step_state_is_ended(StepState state);
bool step_state_may_move(StepState from, StepState to);

/* The end that a run with this outcome comes to. */
StepState step_state_of(Status outcome);

/* The one function that moves a state. FAILED_PRECONDITION names both when there is no such move. */
MUST_USE Status step_state_move(Call *call, StepState *state, StepState to);
