/* DeregisterGraph: removes a partition from the cache; runs under way keep it until they end. Idempotent. */
#include "worker/serve/worker.h"

static Status
forget_partition(WorkerRequest *request)
{
    CacheKey key = {.tenant = request->tenant, .digest = request->parameters[1]};
    (void)cache_remove(request->worker->partitions, key);
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

WORKER_METHOD(deregister_graph) = {
    .name = "DeregisterGraph",
    .verb = "DELETE",
    .path = "/worker/v1/sessions/{session}/partitions/{digest}",
    .finish = forget_partition,
};
