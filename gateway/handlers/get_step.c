/* getStep: a step's state, times, attempts and error; of a queued one that succeeded, where its outputs are.
 * With `Prefer: wait=N` the answer waits for the step's end. */
#include "gateway/steps/step_find.h"

static void
start(Exchange *exchange)
{
    step_look_up_end(exchange, step_answer_stored);
}

HANDLER(get_step) = {
    .operation_id = "getStep",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}",
    .access = ACCESS_TENANT,
    .start = start,
};
