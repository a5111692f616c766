/* CleanupAll: removes the resources that sessions keep. A request with a document names the containers of
 * its tenant's sessions to be emptied; one without a document drops the state of all sessions and ends
 * every step. */
#include "worker/serve/worker.h"

static size_t
reset_containers(WorkerRequest *request, const WireReset *wanted)
{
    StateReset state = {
        .tenant = request->tenant,
        .session = wanted->session,
        .containers = wanted->containers,
        .container_count = wanted->container_count,
    };
    return state_table_reset(request->worker->states, &state);
}

static Status
answer_reset(WorkerRequest *request)
{
    AUTO_BUFFER json = {0};
    WireReset wanted;
    if (request->body.size == 0) {
        step_table_clear(request->worker->steps);
        state_table_clear(request->worker->states);
        worker_answer_json(request, 200, SLICE("{}"));
        return STATUS_OK;
    }
    TRY(wire_reset_read(&request->call, buffer_slice(&request->body), &wanted));
    if (request->tenant.size == 0) {
        return call_fail(&request->call, STATUS_INVALID_ARGUMENT,
            "the header '" WIRE_HEADER_TENANT "' is missing: whose containers are these");
    }
    wire_reset_answer_write(&json, (int64_t)reset_containers(request, &wanted));
    worker_answer_json(request, 200, buffer_slice(&json));
    return STATUS_OK;
}

WORKER_METHOD(cleanup_all) = {
    .name = "CleanupAll",
    .verb = "DELETE",
    .path = "/worker/v1/containers",
    .body = BODY_DOCUMENT,
    .body_size_max = (size_t)1 << 20,
    .finish = answer_reset,
};
