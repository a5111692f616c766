/* listWorkers: lists the workers in pages, as discovery last heard of them. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/workers/worker_pages.h"

static void
start_list_workers(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    Status status = workers_answer(exchange_call(exchange), exchange_request(exchange),
        exchange_response(exchange), parts->directory, parts->limits);
    if (status == STATUS_OK) {
        exchange_finish(exchange);
    } else {
        exchange_fail(exchange, status);
    }
}

HANDLER(list_workers) = {
    .operation_id = "listWorkers",
    .method = "GET",
    .path = "/api/v1/workers",
    .access = ACCESS_TENANT,
    .start = start_list_workers,
};
