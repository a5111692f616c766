#include "gateway/domain/step_state.h"

#include <assert.h>

#define X(name, text, is_initial, is_ended) [STEP_##name] = {text, is_initial, is_ended},
static const struct {
    const char *name;
    bool is_initial;
    bool is_ended;
} states[] = {STEP_STATES(X)};
#undef X

static const bool moves[STEP_STATE_COUNT][STEP_STATE_COUNT] = {
    [STEP_QUEUED] = {[STEP_LEASED] = true, [STEP_CANCELLED] = true, [STEP_EXPIRED] = true},
    [STEP_LEASED] = {[STEP_RUNNING] = true,
        [STEP_QUEUED] = true,
        [STEP_FAILED] = true,
        [STEP_CANCELLED] = true,
        [STEP_EXPIRED] = true,
        [STEP_DEAD] = true},
    [STEP_RUNNING] = {[STEP_SUCCEEDED] = true,
        [STEP_QUEUED] = true,
        [STEP_FAILED] = true,
        [STEP_CANCELLED] = true,
        [STEP_EXPIRED] = true,
        [STEP_DEAD] = true},
    [STEP_DEAD] = {[STEP_QUEUED] = true},
};

const char *
step_state_name(StepState state)
{
    assert(state < STEP_STATE_COUNT);
    return states[state].name;
}

bool
step_state_from_name(Slice name, StepState *ret_state)
{
    for (StepState state = STEP_QUEUED; state < STEP_STATE_COUNT; state++) {
        if (slice_equals_string(name, states[state].name)) {
            *ret_state = state;
            return true;
        }
    }
    return false;
}

bool
step_state_is_initial(StepState state)
{
    assert(state < STEP_STATE_COUNT);
    return states[state].is_initial;
}

bool
step_state_is_ended(StepState state)
{
    assert(state < STEP_STATE_COUNT);
    return states[state].is_ended;
}

bool
step_state_may_move(StepState from, StepState to)
{
    assert(from < STEP_STATE_COUNT && to < STEP_STATE_COUNT);
    return moves[from][to];
}

StepState
step_state_of(Status outcome)
{
    if (outcome == STATUS_OK) {
        return STEP_SUCCEEDED;
    }
    if (outcome == STATUS_CANCELLED) {
        return STEP_CANCELLED;
    }
    return outcome == STATUS_DEADLINE_EXCEEDED ? STEP_EXPIRED : STEP_FAILED;
}

Status
step_state_move(Call *call, StepState *state, StepState to)
{
    if (!step_state_may_move(*state, to)) {
        return call_fail(call, STATUS_FAILED_PRECONDITION, "a step cannot move from '%s' to '%s'",
            step_state_name(*state), step_state_name(to));
    }
    *state = to;
    return STATUS_OK;
}
