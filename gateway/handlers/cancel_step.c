/* cancelStep: keeps a queued step from running, or stops a running one on its workers; a step that has
 * ended stays as it is. The answer shows the step afterwards. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/replicas/step_lookup.h"
#include "gateway/steps/step_json.h"

static Status
cancel_found(Call *call, Store *store, StepLookup *lookup, const StepRecord *step)
{
    StepRecord after = *step;
    if (!step_state_is_ended(step->state) && !running_step_is_unrecorded(step)) {
        TRY(steps_cancel(call, store, step->tenant, step->id, &after));
        queue_runner_wake_beat(lookup->inquiry.home->steps->queue);
    }
    step_write_document(exchange_response(lookup->exchange), &after, NULL);
    return STATUS_OK;
}

static void
start_cancel_step(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    step_look_up(exchange, parts->mail, parts->steps, true, cancel_found);
}

HANDLER(cancel_step) = {
    .operation_id = "cancelStep",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/steps/{step}:cancel",
    .access = ACCESS_TENANT,
    .start = start_cancel_step,
};
