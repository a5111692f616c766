#include "worker/serve/run_shared.h"

#include "worker/serve/worker.h"

Status
run_enter_step(WorkerRequest *request, const WireRun *header, StepEntry **ret_entry)
{
    StepClaim claim = {
        .step = request->parameters[0],
        .slot = header->slot,
        .attempt = header->attempt,
        .push_token = header->push_token,
        .deadline_ns = request->call.deadline_ns,
        .now_ns = loop_now_ns(request->loop->loop),
    };
    if (claim.push_token.size == 0) {
        return STATUS_OK;
    }
    TRY(step_table_enter(&request->call, request->worker->steps, &claim, ret_entry));
    TransportStep *transport = transport_step_new(request->loop->transport, claim.step, header);
    if (transport == NULL) {
        return call_fail_memory(&request->call, "the peers of a step");
    }
    if (!step_entry_attach(*ret_entry, transport)) {
        transport_step_unref(transport);
        return call_fail(&request->call, STATUS_ABORTED, "slot %lld of this attempt has been run already",
            (long long)claim.slot);
    }
    return STATUS_OK;
}

Status
run_find_state(WorkerRequest *request, const WireRun *header, ResourceContainer **ret_state)
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
