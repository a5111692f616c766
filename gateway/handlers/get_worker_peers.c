/* getWorkerPeers: what has passed between a worker and the others, as the worker counts the calls that it has
 * made since it started. */
#include <stdio.h>

#include "gateway/dispatch/peers.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/workers/worker_json.h"

static void
write_peer(JsonWriter *writer, const Roster *roster, const WirePeerTraffic *peer)
{
    char address[ADDRESS_TEXT_SIZE];
    (void)snprintf(address, sizeof address, "%.*s", SLICE_PRINT(peer->address));
    const WorkerInfo *known = roster_find(roster, address);
    json_write_object_begin(writer);
    if (known != NULL) {
        json_member_string(writer, "worker", known->name);
    }
    json_member_slice(writer, "address", peer->address);
    json_member_int64(writer, "calls", peer->calls);
    json_member_int64(writer, "errors", peer->errors);
    json_member_int64(writer, "sent_bytes", peer->sent);
    json_member_int64(writer, "received_bytes", peer->received);
    json_member_int64(writer, "round_trip_us", peer->round_trip_us);
    json_write_object_end(writer);
}

static void
write_peers(void *context, const PeersEnd *end)
{
    Exchange *exchange = context;
    if (end->status != STATUS_OK) {
        exchange_fail(exchange,
            call_fail(exchange_call(exchange), end->status, "the worker does not tell: %s", end->message));
        return;
    }
    Roster *roster = directory_take(exchange_request(exchange)->parts->directory);
    JsonWriter writer = json_writer(response_json(exchange_response(exchange)));
    json_write_object_begin(&writer);
    json_write_name(&writer, "peers");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < end->count; index++) {
        write_peer(&writer, roster, &end->peers[index]);
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
    roster_unref(roster);
    exchange_finish(exchange);
}

static void
start_get_worker_peers(Exchange *exchange)
{
    const Request *request = exchange_request(exchange);
    Slice name = request_parameter(request, "worker");
    Roster *roster = directory_take(request->parts->directory);
    const WorkerInfo *worker = roster_find_name(roster, name);
    if (worker == NULL) {
        exchange_fail(exchange, worker_not_found(exchange_call(exchange), name));
    } else if (!dispatcher_ask_peers(request->parts->dispatcher, worker, write_peers, exchange)) {
        exchange_fail(exchange, call_fail_memory(exchange_call(exchange), "a request"));
    }
    roster_unref(roster);
}

HANDLER(get_worker_peers) = {
    .operation_id = "getWorkerPeers",
    .method = "GET",
    .path = "/api/v1/workers/{worker}/peers",
    .access = ACCESS_OPERATOR,
    .start = start_get_worker_peers,
};
