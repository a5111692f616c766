/* listDevices: lists the devices of all workers as discovery last heard of them. */
#include "gateway/dispatch/directory.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/workers/worker_json.h"

static void
start_list_devices(Exchange *exchange)
{
    Roster *roster = directory_take(exchange_request(exchange)->parts->directory);
    JsonWriter writer = json_writer(response_json(exchange_response(exchange)));
    json_write_object_begin(&writer);
    json_write_name(&writer, "devices");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < roster->count; index++) {
        worker_write_devices(
            &writer, &roster->workers[index], roster_devices(roster, &roster->workers[index]));
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
    roster_unref(roster);
    exchange_finish(exchange);
}

HANDLER(list_devices) = {
    .operation_id = "listDevices",
    .method = "GET",
    .path = "/api/v1/devices",
    .access = ACCESS_TENANT,
    .start = start_list_devices,
};
