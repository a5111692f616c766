/* leaveWorker: a worker that had joined leaves the pool, once it has finished its steps. A life of the same
 * name that came after it stays. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/jobs/job_context.h"
#include "gateway/workers/worker_join.h"
#include "shared/base/text.h"

static Status
run_leave_worker(Call *call, const Request *request, Response *response)
{
    Slice incarnation = request_query(request, "incarnation");
    Store *store = NULL;
    if (!worker_name_is_ok(request_parameter(request, "worker"))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "no worker that joined can have this name");
    }
    if (!worker_incarnation_is_ok(incarnation)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the query parameter 'incarnation' must have 16 hexadecimal digits");
    }
    const char *name = worker_name_read(call, request);
    const char *text = text_copy(call->arena, incarnation);
    if (name == NULL || text == NULL) {
        return call_fail_memory(call, "a worker's name");
    }
    TRY(job_store(call, request->job_context, STORE_ROLE_QUEUE, &store));
    TRY(worker_leases_delete(call, store, name, text));
    response_status(response, 204);
    return STATUS_OK;
}

HANDLER(leave_worker) = {
    .operation_id = "leaveWorker",
    .method = "DELETE",
    .path = "/api/v1/workers/{worker}",
    .access = ACCESS_WORKER,
    .run = run_leave_worker,
};
