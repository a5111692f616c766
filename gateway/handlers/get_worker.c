/* getWorker: shows one worker as discovery last heard of it. */
#include "gateway/dispatch/directory.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/workers/worker_json.h"

static void
start_get_worker(Exchange *exchange)
{
    const Request *request = exchange_request(exchange);
    Slice name = request_parameter(request, "worker");
    Roster *roster = directory_take(request->parts->directory);
    const WorkerInfo *worker = roster_find_name(roster, name);
    if (worker == NULL) {
        exchange_fail(exchange, worker_not_found(exchange_call(exchange), name));
    } else {
        JsonWriter writer = json_writer(response_json(exchange_response(exchange)));
        worker_write(&writer, worker, roster_devices(roster, worker));
        exchange_finish(exchange);
    }
    roster_unref(roster);
}

HANDLER(get_worker) = {
    .operation_id = "getWorker",
    .method = "GET",
    .path = "/api/v1/workers/{worker}",
    .access = ACCESS_TENANT,
    .start = start_get_worker,
};
