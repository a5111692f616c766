/* CleanupAll: ends every step and forgets what containers hold. */
#include "worker/serve/worker.h"

static Status
finish(WorkerRequest *request)
{
    step_table_clear(request->worker->steps);
    state_table_clear(request->worker->states);
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

WORKER_METHOD(cleanup_all) = {
    .name = "CleanupAll",
    .verb = "DELETE",
    .path = "/worker/v1/containers",
    .finish = finish,
};
