/* getStep: shows a step's state, times, attempts and error, and the outputs of a queued step that
 * succeeded. With `Prefer: wait=N` the answer waits for the step's end. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/replicas/step_lookup.h"

static void
start_get_step(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    step_look_up_end(exchange, parts->mail, parts->steps, step_answer);
}

HANDLER(get_step) = {
    .operation_id = "getStep",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}",
    .access = ACCESS_TENANT,
    .start = start_get_step,
};
