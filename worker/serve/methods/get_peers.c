/* GetPeers: what has passed between this worker and the others, by the calls that it has made. */
#include "shared/wire/peer_traffic.h"
#include "worker/serve/worker.h"

static Status
answer_peers(WorkerRequest *request)
{
    AUTO_BUFFER json = {0};
    WirePeerTraffic *peers = arena_alloc(request->call.arena, WIRE_PEERS_MAX * sizeof *peers);
    if (peers == NULL) {
        return call_fail_memory(&request->call, "a list of peers");
    }
    wire_traffic_write(&json, peers, traffic_list(request->worker->traffic, peers));
    worker_answer_json(request, 200, buffer_slice(&json));
    return STATUS_OK;
}

WORKER_METHOD(get_peers) = {
    .name = "GetPeers",
    .verb = "GET",
    .path = "/worker/v1/peers",
    .finish = answer_peers,
};
