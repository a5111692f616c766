#include "worker/serve/run_claim.h"

#include "shared/base/clock.h"
#include "shared/base/text.h"
#include "worker/serve/state_table.h"

Status
run_claim_find_state(WorkerRequest *request, const WireRun *header, ResourceContainer **ret_state)
{
    StatePlace place = {
        .tenant = request->tenant,
        .session = header->session,
        .place = header->state_place,
        .epoch = header->state_epoch,
    };
    return place.epoch == 0 ? STATUS_OK
                            : state_table_obtain(&request->call, request->worker->states, &place,
                                  loop_now_ns(request->loop->loop), ret_state);
}

/* Returns when the step was first to be run, 0: this is the first time. */
static uint64_t
find_beginning(const WireRun *header)
{
    uint64_t age_ns = (uint64_t)header->once_age_ms * CLOCK_NS_PER_MS;
    uint64_t now_ns = clock_monotonic_ns();
    return age_ns == 0 ? 0 : age_ns < now_ns ? now_ns - age_ns : 1;
}

/* Writes where the slots of the step run; *ret_binding stays empty when there is one. */
static Status
write_binding(Call *call, const WireRun *header, Slice *ret_binding)
{
    AUTO_BUFFER json = {0};
    WireBinding binding = {
        .is_known = true,
        .attempt = header->attempt,
        .slots = header->bound,
        .slot_count = header->bound_count,
    };
    if (header->bound_count == 0) {
        return STATUS_OK;
    }
    wire_binding_write(&json, &binding);
    const char *copy = buffer_is_ok(&json) ? text_copy(call->arena, buffer_slice(&json)) : NULL;
    if (copy == NULL) {
        return call_fail_memory(call, "the slots of a step");
    }
    *ret_binding = slice_of(copy, json.size);
    return STATUS_OK;
}

Status
run_claim_describe(
    WorkerRequest *request, const WireRun *header, ResourceContainer *state, OutcomeClaim *ret_claim)
{
    Call *call = &request->call;
    OutcomeClaim claim = {.holder = header->holder, .began_ns = find_beginning(header)};
    if (!outcome_key(request->tenant, request->parameters[0], header->slot, &claim.key)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a step to be run once has no id like this");
    }
    if (state != NULL && claim.began_ns != 0 && container_lost_since(state, claim.began_ns)) {
        return call_fail(call, STATUS_FAILED_PRECONDITION, "the step may have been run before");
    }
    TRY(write_binding(call, header, &claim.binding));
    *ret_claim = claim;
    return STATUS_OK;
}

Status
run_claim_refuse(Call *call, OutcomeAnswer answer)
{
    if (answer == OUTCOME_FORGOTTEN) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the step may have been run before: its worker has forgotten the outcomes of that time");
    }
    if (answer == OUTCOME_CLOSED) {
        return call_fail(call, STATUS_ABORTED, "another gateway has taken the step up");
    }
    return call_fail_memory(call, "the outcome of a step");
}
