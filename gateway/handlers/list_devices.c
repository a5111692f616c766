/* listDevices: lists the devices of all workers in pages, as discovery last heard of them. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/workers/worker_pages.h"

static void
start_list_devices(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    Status status = devices_answer(exchange_call(exchange), exchange_request(exchange),
        exchange_response(exchange), parts->directory, parts->limits);
    if (status == STATUS_OK) {
        exchange_finish(exchange);
    } else {
        exchange_fail(exchange, status);
    }
}

HANDLER(list_devices) = {
    .operation_id = "listDevices",
    .method = "GET",
    .path = "/api/v1/devices",
    .access = ACCESS_TENANT,
    .start = start_list_devices,
};
