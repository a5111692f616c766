/* CleanupGraph: ends a step, up to an attempt or with all its attempts. Frees the tensors parked for it
 * and refuses its late messages. */
#include "worker/serve/worker.h"

static Status
cleanup_step(WorkerRequest *request)
{
    int64_t attempt = request->attempt == 0 ? INT64_MAX : request->attempt;
    step_table_cleanup(request->worker->steps, request->parameters[0], attempt);
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

WORKER_METHOD(cleanup_graph) = {
    .name = "CleanupGraph",
    .verb = "DELETE",
    .path = "/worker/v1/steps/{step}",
    .finish = cleanup_step,
};
