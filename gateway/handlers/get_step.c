/* getStep: a step's state, times, attempts and error; of a queued one that succeeded, where its outputs are.
 */
#include "gateway/services/step_find.h"
#include "gateway/services/step_json.h"

static Status
answer(Call *call, Store *store, const StepLookup *lookup)
{
    StepRecord step;
    StepTensors outputs = {0};
    TRY(step_find_stored(call, store, lookup, &step));
    if (step.is_async && step.state == STEP_SUCCEEDED) {
        TRY(steps_outputs(call, store, step.tenant, step.id, &outputs));
    }
    step_write_document(exchange_response(lookup->exchange), &step, &outputs);
    return STATUS_OK;
}

static void
start(Exchange *exchange)
{
    step_look_up(exchange, false, answer);
}

HANDLER(get_step) = {
    .operation_id = "getStep",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}",
    .access = ACCESS_TENANT,
    .start = start,
};
