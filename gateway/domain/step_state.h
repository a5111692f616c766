/* The states of a step and the moves between them. The database allows the same moves (the table
 * step_moves); a test compares the two.
 *
 *   queued → leased → running → succeeded | failed | cancelled | expired | dead
 *
 * A step goes back to queued when its lease is lost, when a failure may be retried, and from dead by
 * redrive. */
#pragma once

#include <stdbool.h>

#include "shared/base/call.h"
#include "shared/base/slice.h"

/* name, whether a step may begin in it, whether it is an end */
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

/* Finds a state by name; false when there is none, and `ret_state` is untouched. */
bool step_state_from_name(Slice name, StepState *ret_state);

bool step_state_is_initial(StepState state);
bool step_state_is_ended(StepState state);
bool step_state_may_move(StepState from, StepState to);

/* Returns the end of a run with this outcome. */
StepState step_state_of(Status outcome);

/* Moves a state; every change of a state in memory goes through here. FAILED_PRECONDITION names both
 * states when there is no such move. */
MUST_USE Status step_state_move(Call *call, StepState *state, StepState to);
