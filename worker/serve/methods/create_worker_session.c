/* CreateWorkerSession: makes or renews the lease under which partitions are registered. */
#include "worker/serve/worker.h"

static Status
create_session(WorkerRequest *request)
{
    TRY(session_table_put(
        &request->call, request->worker->sessions, request->parameters[0], loop_now_ns(request->loop->loop)));
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

WORKER_METHOD(create_worker_session) = {
    .name = "CreateWorkerSession",
    .verb = "PUT",
    .path = "/worker/v1/sessions/{session}",
    .body = BODY_DOCUMENT,
    .body_size_max = (size_t)64 << 10,
    .finish = create_session,
};
