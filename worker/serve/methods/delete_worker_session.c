/* DeleteWorkerSession: ends the lease of a session and drops its state. Idempotent; running steps go on
 * undisturbed. */
#include "worker/serve/worker.h"

static Status
delete_session(WorkerRequest *request)
{
    session_table_remove(request->worker->sessions, request->parameters[0]);
    state_table_remove(request->worker->states, request->tenant, request->parameters[0]);
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

WORKER_METHOD(delete_worker_session) = {
    .name = "DeleteWorkerSession",
    .verb = "DELETE",
    .path = "/worker/v1/sessions/{session}",
    .finish = delete_session,
};
