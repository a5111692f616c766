#include "shared/wire/peer_traffic.h"

#include <assert.h>
#include <stddef.h>

#include "shared/json/reader.h"
#include "shared/json/writer.h"

void
wire_traffic_write(Buffer *buffer, const WirePeerTraffic *peers, size_t count)
{
    assert(count <= WIRE_PEERS_MAX);

    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_write_name(&writer, "peers");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < count; index++) {
        const WirePeerTraffic *peer = &peers[index];
        json_write_object_begin(&writer);
        json_member_slice(&writer, "address", peer->address);
        json_member_int64(&writer, "calls", peer->calls);
        json_member_int64(&writer, "errors", peer->errors);
        json_member_int64(&writer, "sent", peer->sent);
        json_member_int64(&writer, "received", peer->received);
        json_member_int64(&writer, "round_trip_us", peer->round_trip_us);
        json_write_object_end(&writer);
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
}

typedef struct Document {
    const WirePeerTraffic *peers;
    size_t count;
} Document;

Status
wire_traffic_read(Call *call, Slice json, const WirePeerTraffic **ret_peers, size_t *ret_count)
{
    static const JsonMember peer_members[] = {
        {"address", JSON_SLICE, .offset = offsetof(WirePeerTraffic, address)},
        {"calls", JSON_INT64, .offset = offsetof(WirePeerTraffic, calls)},
        {"errors", JSON_INT64, .offset = offsetof(WirePeerTraffic, errors)},
        {"sent", JSON_INT64, .offset = offsetof(WirePeerTraffic, sent)},
        {"received", JSON_INT64, .offset = offsetof(WirePeerTraffic, received)},
        {"round_trip_us", JSON_INT64, .offset = offsetof(WirePeerTraffic, round_trip_us)},
    };
    static const JsonTable peer_table = JSON_TABLE("a peer", peer_members);
    static const JsonList list = {
        .item = {.type = JSON_STRUCT, .table = &peer_table},
        .item_size = sizeof(WirePeerTraffic),
        .count_max = WIRE_PEERS_MAX,
        .too_many = "more than 1024 peers",
    };
    static const JsonMember members[] = {
        {"peers", JSON_LIST, .offset = offsetof(Document, peers), .list = &list},
    };
    static const JsonTable table = JSON_TABLE("a worker's peers", members);
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_SKIPPED};
    Document document = {0};
    TRY(json_stream_read(call, json, &dialect, &table, &document));
    *ret_peers = document.peers;
    *ret_count = document.count;
    return STATUS_OK;
}
