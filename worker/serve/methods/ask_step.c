/* AskStep: says where the slots of a step run, if the slot that is asked for runs here or has been run. Else
 * that slot is closed to gateways that held the step before the one that asks: what they have sent comes too
 * late. */
#include "shared/base/clock.h"
#include "worker/serve/run_claim.h"

enum { HEADER_SIZE_MAX = 1 << 20 };

static Status
answer_question(WorkerRequest *request, const OutcomeClaim *claim)
{
    AUTO_BUFFER binding = {0};
    OutcomeAnswer answer =
        outcome_table_ask(request->worker->outcomes, claim, clock_monotonic_ns(), &binding);
    bool is_known = answer == OUTCOME_RUNNING || answer == OUTCOME_ENDED;
    if (!is_known && answer != OUTCOME_FRESH) {
        return run_claim_refuse(&request->call, answer);
    }
    if (binding.size == 0) {
        wire_binding_write(&binding, &(WireBinding){.is_known = is_known, .attempt = 1});
    }
    if (!buffer_is_ok(&binding)) {
        return call_fail_memory(&request->call, "the slots of a step");
    }
    worker_answer_json(request, 200, buffer_slice(&binding));
    return STATUS_OK;
}

static Status
ask_step(WorkerRequest *request)
{
    WireRun header;
    OutcomeClaim claim;
    ResourceContainer *state = NULL;
    TRY(wire_run_read(&request->call, buffer_slice(&request->body), &header));
    TRY(run_claim_find_state(request, &header, &state));
    Status status = run_claim_describe(request, &header, state, &claim);
    container_unref(state);
    return status == STATUS_OK ? answer_question(request, &claim) : status;
}

WORKER_METHOD(ask_step) = {
    .name = "AskStep",
    .verb = "POST",
    .path = "/worker/v1/steps/{step}:ask",
    .body = BODY_DOCUMENT,
    .body_size_max = HEADER_SIZE_MAX,
    .finish = ask_step,
};
