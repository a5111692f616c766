/* getQueue: shows how many of the tenant's steps wait and run, and since when the oldest waits. */
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/store/queue.h"
#include "gateway/store/tenants.h"

static Status
run_get_queue(Call *call, const Request *request, Response *response)
{
    Store *store = NULL;
    QueueDepth depth;
    Quota quota;
    TRY(request_store(call, request, &store));
    TRY(queue_depth(call, store, request->principal.tenant, &depth));
    TRY(quotas_find(call, store, request->principal.tenant, &quota));
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_member_int64(&writer, "queued", depth.queued);
    json_member_int64(&writer, "queued_max", quota.queued_steps_max);
    json_member_int64(&writer, "running", depth.running);
    json_member_int64(&writer, "running_max", quota.running_steps_max);
    json_member_double(&writer, "weight", quota.weight);
    if (depth.oldest_us != 0) {
        json_member_time(&writer, "oldest_at", depth.oldest_us);
    }
    json_write_object_end(&writer);
    return STATUS_OK;
}

HANDLER(get_queue) = {
    .operation_id = "getQueue",
    .method = "GET",
    .path = "/api/v1/queue",
    .access = ACCESS_TENANT,
    .run = run_get_queue,
};
