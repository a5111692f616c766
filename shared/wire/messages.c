#include "shared/wire/messages.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "shared/base/text.h"
#include "shared/json/reader.h"
#include "shared/json/writer.h"
#include "shared/wire/labels.h"

/* Members that a table does not name are passed over: the two programs may be of different versions. */
static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_SKIPPED};

static const JsonMember peer_members[] = {
    {"slot", JSON_INT64, .offset = offsetof(WirePeer, slot)},
    {"address", JSON_SLICE, .offset = offsetof(WirePeer, address)},
    {"incarnation", JSON_SLICE, .offset = offsetof(WirePeer, incarnation)},
    {"push_token", JSON_SLICE, .offset = offsetof(WirePeer, push_token)},
    {"senders", JSON_INT64, .offset = offsetof(WirePeer, sender_count)},
    {"version", JSON_INT64, .offset = offsetof(WirePeer, version)},
};
static const JsonTable peer_table = JSON_TABLE("a peer", peer_members);

static const JsonList peers = {
    .item = {.type = JSON_STRUCT, .table = &peer_table},
    .item_size = sizeof(WirePeer),
    .count_max = SLOT_COUNT_MAX,
    .too_many = "more than 256 peers",
};

static Status
read_trace(JsonReader *reader, const JsonMember *member, void *target)
{
    (void)member;
    Slice trace;
    if (!json_string(reader->scanner, reader->call->arena, &trace)) {
        return json_reader_fault(reader);
    }
    *(bool *)target = slice_equals_string(trace, "node");
    return STATUS_OK;
}

static const JsonMember run_members[] = {
    {"partition", JSON_SLICE, .offset = offsetof(WireRun, partition)},
    {"session", JSON_SLICE, .offset = offsetof(WireRun, session)},
    {"attempt", JSON_INT64, .offset = offsetof(WireRun, attempt)},
    {"slot", JSON_INT64, .offset = offsetof(WireRun, slot)},
    {"feeds", JSON_INT64, .offset = offsetof(WireRun, feed_count)},
    {"fetches", JSON_INT64, .offset = offsetof(WireRun, fetch_count)},
    {"push_token", JSON_SLICE, .offset = offsetof(WireRun, push_token)},
    {"memory_limit", JSON_INT64, .offset = offsetof(WireRun, memory_limit)},
    {"open_size", JSON_INT64, .offset = offsetof(WireRun, open_size)},
    {"trace", .offset = offsetof(WireRun, has_trace), .read = read_trace},
    {"partial", JSON_BOOLEAN, .offset = offsetof(WireRun, is_partial)},
    {"holds_outputs", JSON_BOOLEAN, .offset = offsetof(WireRun, holds_outputs)},
    {"once", JSON_BOOLEAN, .offset = offsetof(WireRun, is_once)},
    {"once_age_ms", JSON_INT64, .offset = offsetof(WireRun, once_age_ms)},
    {"holder", JSON_INT64, .offset = offsetof(WireRun, holder)},
    {"state_place", JSON_INT64, .offset = offsetof(WireRun, state_place)},
    {"state_epoch", JSON_INT64, .offset = offsetof(WireRun, state_epoch)},
    {"peers", JSON_LIST, .offset = offsetof(WireRun, peers), .list = &peers},
    {"bound", JSON_LIST, .offset = offsetof(WireRun, bound), .list = &peers},
};
static const JsonTable run_table = JSON_TABLE("a run", run_members);

static void
write_peers(JsonWriter *writer, const char *name, const WirePeer *list, size_t count)
{
    assert(count <= SLOT_COUNT_MAX);

    json_write_name(writer, name);
    json_write_array_begin(writer);
    for (size_t index = 0; index < count; index++) {
        const WirePeer *peer = &list[index];
        json_write_object_begin(writer);
        json_member_int64(writer, "slot", peer->slot);
        json_member_slice(writer, "address", peer->address);
        json_member_slice(writer, "incarnation", peer->incarnation);
        json_member_slice(writer, "push_token", peer->push_token);
        json_member_int64(writer, "senders", peer->sender_count);
        json_member_int64(writer, "version", peer->version);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

void
wire_run_write(Buffer *buffer, const WireRun *run)
{
    assert(run->peer_count <= SLOT_COUNT_MAX);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_slice(&writer, "partition", run->partition);
    json_member_slice(&writer, "session", run->session);
    json_member_int64(&writer, "attempt", run->attempt);
    json_member_int64(&writer, "slot", run->slot);
    json_member_int64(&writer, "feeds", run->feed_count);
    json_member_int64(&writer, "fetches", run->fetch_count);
    if (run->push_token.size > 0) {
        json_member_slice(&writer, "push_token", run->push_token);
    }
    if (run->memory_limit > 0) {
        json_member_int64(&writer, "memory_limit", run->memory_limit);
    }
    if (run->open_size > 0) {
        json_member_int64(&writer, "open_size", run->open_size);
    }
    if (run->has_trace) {
        json_member_string(&writer, "trace", "node");
    }
    if (run->is_partial) {
        json_member_boolean(&writer, "partial", true);
    }
    if (run->holds_outputs) {
        json_member_boolean(&writer, "holds_outputs", true);
    }
    if (run->is_once) {
        json_member_boolean(&writer, "once", true);
        json_member_int64(&writer, "once_age_ms", run->once_age_ms);
        json_member_int64(&writer, "holder", run->holder);
    }
    if (run->state_epoch > 0) {
        json_member_int64(&writer, "state_place", run->state_place);
        json_member_int64(&writer, "state_epoch", run->state_epoch);
    }
    if (run->peer_count > 0) {
        write_peers(&writer, "peers", run->peers, run->peer_count);
    }
    if (run->bound_count > 0) {
        write_peers(&writer, "bound", run->bound, run->bound_count);
    }
    json_write_object_end(&writer);
}

Status
wire_run_read(Call *call, Slice json, WireRun *ret_run)
{
    WireRun run = {.attempt = -1, .slot = -1};
    TRY(json_stream_read(call, json, &dialect, &run_table, &run));
    if (run.partition.size != DIGEST_TEXT_SIZE - 1) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "'partition' must be a sha256 digest of 64 hex digits");
    }
    bool is_in_range = run.attempt >= 1 && run.slot >= 0 && run.slot < SLOT_COUNT_MAX &&
                       run.feed_count >= 0 && run.feed_count <= UINT16_MAX && run.fetch_count >= 0 &&
                       run.fetch_count <= UINT16_MAX && run.memory_limit >= 0 && run.once_age_ms >= 0 &&
                       run.once_age_ms <= INT32_MAX;
    if (!is_in_range) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'attempt', 'slot', 'feeds', 'fetches', 'memory_limit' or 'once_age_ms' is missing or out of "
            "range");
    }
    *ret_run = run;
    return STATUS_OK;
}

static const JsonMember binding_members[] = {
    {"known", JSON_BOOLEAN, .offset = offsetof(WireBinding, is_known)},
    {"attempt", JSON_INT64, .offset = offsetof(WireBinding, attempt)},
    {"slots", JSON_LIST, .offset = offsetof(WireBinding, slots), .list = &peers},
};
static const JsonTable binding_table = JSON_TABLE("a binding", binding_members);

void
wire_binding_write(Buffer *buffer, const WireBinding *binding)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_boolean(&writer, "known", binding->is_known);
    if (binding->is_known) {
        json_member_int64(&writer, "attempt", binding->attempt);
        write_peers(&writer, "slots", binding->slots, binding->slot_count);
    }
    json_write_object_end(&writer);
}

Status
wire_binding_read(Call *call, Slice json, WireBinding *ret_binding)
{
    WireBinding binding = {.is_known = false};
    TRY(json_stream_read(call, json, &dialect, &binding_table, &binding));
    if (binding.is_known && binding.attempt < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'attempt' is missing or out of range");
    }
    *ret_binding = binding;
    return STATUS_OK;
}

static Status
read_code(JsonReader *reader, const JsonMember *member, void *target)
{
    (void)member;
    Slice name;
    if (!json_string(reader->scanner, reader->call->arena, &name)) {
        return json_reader_fault(reader);
    }
    return status_from_name(name, target) ? STATUS_OK : json_reader_refuse(reader, "no status has this name");
}

static const JsonList digests = {
    .item = {.type = JSON_SLICE},
    .item_size = sizeof(Slice),
    .count_max = WIRE_MISSING_BLOBS_MAX,
    .too_many = "too many strings",
};

/* A status as its document has it: texts of any length. */
typedef struct StatusDocument {
    WireStatus status;
    Slice message;
    Slice node;
} StatusDocument;

static const JsonMember status_members[] = {
    {"code", .offset = offsetof(StatusDocument, status.failure.code), .read = read_code},
    {"message", JSON_SLICE, .offset = offsetof(StatusDocument, message)},
    {"node", JSON_SLICE, .offset = offsetof(StatusDocument, node)},
    {"reason", JSON_SLICE, .offset = offsetof(StatusDocument, status.reason)},
    {"incarnation", JSON_SLICE, .offset = offsetof(StatusDocument, status.incarnation)},
    {"lost_peer", JSON_SLICE, .offset = offsetof(StatusDocument, status.lost_peer)},
    {"missing_blobs", JSON_LIST, .offset = offsetof(StatusDocument, status.missing_blobs), .list = &digests},
};
static const JsonTable status_table = JSON_TABLE("a status", status_members);

static void
write_present(JsonWriter *writer, const char *name, Slice value)
{
    if (value.size > 0) {
        json_member_slice(writer, name, value);
    }
}

void
wire_status_write(Buffer *buffer, const WireStatus *status)
{
    assert(status->missing_blobs != NULL || status->missing_blob_count == 0);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_string(&writer, "code", status_name(status->failure.code));
    write_present(&writer, "message", slice_from_string(status->failure.message));
    write_present(&writer, "node", slice_from_string(status->failure.node));
    write_present(&writer, "reason", status->reason);
    write_present(&writer, "incarnation", status->incarnation);
    write_present(&writer, "lost_peer", status->lost_peer);
    if (status->missing_blob_count > 0) {
        json_member_slices(&writer, "missing_blobs", status->missing_blobs, status->missing_blob_count);
    }
    json_write_object_end(&writer);
}

Status
wire_status_read(Call *call, Slice json, WireStatus *ret_status)
{
    StatusDocument document = {.status.failure.code = STATUS_UNKNOWN};
    TRY(json_stream_read(call, json, &dialect, &status_table, &document));
    *ret_status = document.status;
    if (document.status.failure.code != STATUS_OK) {
        ret_status->failure =
            failure_of(document.status.failure.code, document.node, "%.*s", SLICE_PRINT(document.message));
    }
    return STATUS_OK;
}

static const JsonList containers = {
    .item = {.type = JSON_SLICE},
    .item_size = sizeof(Slice),
    .count_max = WIRE_CONTAINERS_MAX,
    .too_many = "too many strings",
};

static const JsonMember reset_members[] = {
    {"session", JSON_SLICE, .offset = offsetof(WireReset, session)},
    {"containers", JSON_LIST, .offset = offsetof(WireReset, containers), .list = &containers},
};
static const JsonTable reset_table = JSON_TABLE("a reset", reset_members);

void
wire_reset_write(Buffer *buffer, const WireReset *reset)
{
    assert(reset->containers != NULL || reset->container_count == 0);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    write_present(&writer, "session", reset->session);
    json_member_slices(&writer, "containers", reset->containers, reset->container_count);
    json_write_object_end(&writer);
}

Status
wire_reset_read(Call *call, Slice json, WireReset *ret_reset)
{
    WireReset reset = {.container_count = 0};
    TRY(json_stream_read(call, json, &dialect, &reset_table, &reset));
    *ret_reset = reset;
    return STATUS_OK;
}

void
wire_reset_answer_write(Buffer *buffer, int64_t resource_count)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_int64(&writer, "resources", resource_count);
    json_write_object_end(&writer);
}

Status
wire_reset_answer_read(Call *call, Slice json, int64_t *ret_resource_count)
{
    static const JsonMember members[] = {{"resources", JSON_INT64, .offset = 0}};
    static const JsonTable table = JSON_TABLE("an answer", members);
    int64_t count = -1;
    TRY(json_stream_read(call, json, &dialect, &table, &count));
    if (count < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'resources' is missing or out of range");
    }
    *ret_resource_count = count;
    return STATUS_OK;
}

static const JsonList names = {
    .item = {.type = JSON_SLICE},
    .item_size = sizeof(Slice),
    .count_max = WIRE_NAMES_SIZE_MAX,
    .too_many = "too many names",
};

static const JsonMember nodes_members[] = {
    {"device", JSON_SLICE, .offset = offsetof(WireNodes, device)},
    {"reason", JSON_SLICE, .offset = offsetof(WireNodes, reason)},
    {"count", JSON_INT64, .offset = offsetof(WireNodes, count)},
    {"names", JSON_LIST, .offset = offsetof(WireNodes, names), .list = &names},
};
static const JsonTable nodes_table = JSON_TABLE("nodes of a device", nodes_members);

static const JsonList node_groups = {
    .item = {.type = JSON_STRUCT, .table = &nodes_table},
    .item_size = sizeof(WireNodes),
    .count_max = WIRE_NODE_GROUPS_MAX,
    .too_many = "more than 64 groups of nodes",
};

static const JsonMember assignment_members[] = {
    {"nodes", JSON_LIST, .offset = offsetof(WireAssignment, groups), .list = &node_groups},
    {"copy_count", JSON_INT64, .offset = offsetof(WireAssignment, copy_count)},
    {"copies", JSON_LIST, .offset = offsetof(WireAssignment, copies), .list = &names},
};
static const JsonTable assignment_table = JSON_TABLE("an assignment", assignment_members);

/* Writes the names for which there is room. */
static void
write_names(JsonWriter *writer, const char *member, const Slice *list, size_t count, size_t *room)
{
    size_t fitting = 0;
    while (fitting < count && list[fitting].size < *room) {
        *room -= list[fitting++].size + 1;
    }
    json_member_slices(writer, member, list, fitting);
}

void
wire_assignment_write(Buffer *buffer, const WireAssignment *assignment)
{
    assert(assignment->group_count <= WIRE_NODE_GROUPS_MAX);
    JsonWriter writer = json_writer(buffer);
    size_t room = WIRE_NAMES_SIZE_MAX;
    json_write_object_begin(&writer);
    if (assignment->group_count > 0) {
        json_member_int64(&writer, "copy_count", assignment->copy_count);
        write_names(&writer, "copies", assignment->copies, assignment->copy_name_count, &room);
        json_write_name(&writer, "nodes");
        json_write_array_begin(&writer);
        for (size_t index = 0; index < assignment->group_count; index++) {
            const WireNodes *nodes = &assignment->groups[index];
            json_write_object_begin(&writer);
            json_member_slice(&writer, "device", nodes->device);
            write_present(&writer, "reason", nodes->reason);
            json_member_int64(&writer, "count", nodes->count);
            write_names(&writer, "names", nodes->names, nodes->name_count, &room);
            json_write_object_end(&writer);
        }
        json_write_array_end(&writer);
    }
    json_write_object_end(&writer);
}

Status
wire_assignment_read(Call *call, Slice json, WireAssignment *ret_assignment)
{
    WireAssignment assignment = {0};
    TRY(json_stream_read(call, json, &dialect, &assignment_table, &assignment));
    *ret_assignment = assignment;
    return STATUS_OK;
}

static const JsonMember fetch_members[] = {
    {"address", JSON_SLICE, .offset = offsetof(WireFetch, address)},
    {"incarnation", JSON_SLICE, .offset = offsetof(WireFetch, incarnation)},
    {"size", JSON_INT64, .offset = offsetof(WireFetch, size)},
};
static const JsonTable fetch_table = JSON_TABLE("a fetch", fetch_members);

void
wire_fetch_write(Buffer *buffer, const WireFetch *fetch)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_slice(&writer, "address", fetch->address);
    write_present(&writer, "incarnation", fetch->incarnation);
    json_member_int64(&writer, "size", fetch->size);
    json_write_object_end(&writer);
}

Status
wire_fetch_read(Call *call, Slice json, WireFetch *ret_fetch)
{
    WireFetch fetch = {.size = -1};
    TRY(json_stream_read(call, json, &dialect, &fetch_table, &fetch));
    if (fetch.address.size == 0 || fetch.size < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'address' or 'size' is missing or out of range");
    }
    *ret_fetch = fetch;
    return STATUS_OK;
}

static const JsonMember stats_members[] = {
    {"elapsed_us", JSON_INT64, .offset = offsetof(WireStats, elapsed_us)},
    {"computed_us", JSON_INT64, .offset = offsetof(WireStats, computed_us)},
    {"nodes", JSON_INT64, .offset = offsetof(WireStats, node_count)},
    {"bytes_in", JSON_INT64, .offset = offsetof(WireStats, bytes_in)},
    {"bytes_out", JSON_INT64, .offset = offsetof(WireStats, bytes_out)},
    {"planned_bytes", JSON_INT64, .offset = offsetof(WireStats, planned_bytes)},
    {"peak_bytes", JSON_INT64, .offset = offsetof(WireStats, peak_bytes)},
    {"trace", JSON_TEXT, .offset = offsetof(WireStats, trace)},
};
static const JsonTable stats_table = JSON_TABLE("statistics", stats_members);

void
wire_stats_write(Buffer *buffer, const WireStats *stats)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_int64(&writer, "elapsed_us", stats->elapsed_us);
    json_member_int64(&writer, "computed_us", stats->computed_us);
    json_member_int64(&writer, "nodes", stats->node_count);
    json_member_int64(&writer, "bytes_in", stats->bytes_in);
    json_member_int64(&writer, "bytes_out", stats->bytes_out);
    json_member_int64(&writer, "planned_bytes", stats->planned_bytes);
    json_member_int64(&writer, "peak_bytes", stats->peak_bytes);
    if (stats->trace.size > 0) {
        json_write_name(&writer, "trace");
        json_write_raw(&writer, stats->trace);
    }
    json_write_object_end(&writer);
}

Status
wire_stats_read(Call *call, Slice json, WireStats *ret_stats)
{
    WireStats stats = {0};
    TRY(json_stream_read(call, json, &dialect, &stats_table, &stats));
    *ret_stats = stats;
    return STATUS_OK;
}

static const JsonMember rest_members[] = {
    {"rests", JSON_BOOLEAN, .offset = offsetof(WireRest, rests)},
    {"feeds", JSON_INT64, .offset = offsetof(WireRest, feed_count)},
    {"computed_us", JSON_INT64, .offset = offsetof(WireRest, computed_us)},
};
static const JsonTable rest_table = JSON_TABLE("a word of a partial run", rest_members);

void
wire_rest_write(Buffer *buffer, const WireRest *rest)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_boolean(&writer, "rests", rest->rests);
    json_member_int64(&writer, "feeds", rest->feed_count);
    json_member_int64(&writer, "computed_us", rest->computed_us);
    json_write_object_end(&writer);
}

Status
wire_rest_read(Call *call, Slice json, WireRest *ret_rest)
{
    WireRest rest = {.feed_count = -1};
    TRY(json_stream_read(call, json, &dialect, &rest_table, &rest));
    *ret_rest = rest;
    return STATUS_OK;
}

static const JsonMember library_members[] = {
    {"name", JSON_SLICE, .offset = offsetof(WireLibrary, name)},
    {"version", JSON_SLICE, .offset = offsetof(WireLibrary, version)},
    {"reason", JSON_SLICE, .offset = offsetof(WireLibrary, reason)},
};
static const JsonTable library_table = JSON_TABLE("a library", library_members);

static const JsonList libraries = {
    .item = {.type = JSON_STRUCT, .table = &library_table},
    .item_size = sizeof(WireLibrary),
    .count_max = WIRE_LIBRARY_COUNT_MAX,
    .too_many = "more than 32 libraries",
};

static const JsonMember device_members[] = {
    {"type", JSON_SLICE, .offset = offsetof(WireDevice, type)},
    {"id", JSON_INT64, .offset = offsetof(WireDevice, id)},
    {"isa", JSON_SLICE, .offset = offsetof(WireDevice, isa)},
    {"threads", JSON_INT64, .offset = offsetof(WireDevice, thread_count)},
    {"slots", JSON_INT64, .offset = offsetof(WireDevice, slot_count)},
    {"memory_limit", JSON_INT64, .offset = offsetof(WireDevice, memory_limit)},
    {"memory_in_use", JSON_INT64, .offset = offsetof(WireDevice, memory_in_use)},
    {"card", JSON_SLICE, .offset = offsetof(WireDevice, card)},
    {"driver", JSON_SLICE, .offset = offsetof(WireDevice, driver)},
    {"fault", JSON_SLICE, .offset = offsetof(WireDevice, fault)},
    {"libraries", JSON_LIST, .offset = offsetof(WireDevice, libraries), .list = &libraries},
};
static const JsonTable device_table = JSON_TABLE("a device", device_members);

static const JsonList devices = {
    .item = {.type = JSON_STRUCT, .table = &device_table},
    .item_size = sizeof(WireDevice),
    .count_max = WIRE_DEVICE_COUNT_MAX,
    .too_many = "more than 64 devices",
};

static const JsonMember worker_members[] = {
    {"name", JSON_SLICE, .offset = offsetof(WireWorker, name)},
    {"incarnation", JSON_SLICE, .offset = offsetof(WireWorker, incarnation)},
    {"state", JSON_SLICE, .offset = offsetof(WireWorker, state)},
    {"protocol", JSON_INT64, .offset = offsetof(WireWorker, versions.newest)},
    {"protocol_oldest", JSON_INT64, .offset = offsetof(WireWorker, versions.oldest)},
    {"running", JSON_INT64, .offset = offsetof(WireWorker, running_count)},
    {"partitions", JSON_INT64, .offset = offsetof(WireWorker, partition_count)},
    {"no_gpu", JSON_SLICE, .offset = offsetof(WireWorker, no_gpu)},
    {"labels", JSON_SLICE, .offset = offsetof(WireWorker, labels)},
    {"devices", JSON_LIST, .offset = offsetof(WireWorker, devices), .list = &devices},
};
static const JsonTable worker_table = JSON_TABLE("a worker", worker_members);

static void
write_libraries(JsonWriter *writer, const WireDevice *device)
{
    json_write_name(writer, "libraries");
    json_write_array_begin(writer);
    for (size_t index = 0; index < device->library_count; index++) {
        const WireLibrary *library = &device->libraries[index];
        json_write_object_begin(writer);
        json_member_slice(writer, "name", library->name);
        write_present(writer, "version", library->version);
        write_present(writer, "reason", library->reason);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_device(JsonWriter *writer, const WireDevice *device)
{
    assert(device->library_count <= WIRE_LIBRARY_COUNT_MAX);
    json_write_object_begin(writer);
    json_member_slice(writer, "type", device->type);
    json_member_int64(writer, "id", device->id);
    json_member_slice(writer, "isa", device->isa);
    json_member_int64(writer, "threads", device->thread_count);
    json_member_int64(writer, "slots", device->slot_count);
    json_member_int64(writer, "memory_limit", device->memory_limit);
    json_member_int64(writer, "memory_in_use", device->memory_in_use);
    write_present(writer, "card", device->card);
    write_present(writer, "driver", device->driver);
    write_present(writer, "fault", device->fault);
    if (device->library_count > 0) {
        write_libraries(writer, device);
    }
    json_write_object_end(writer);
}

void
wire_worker_write(Buffer *buffer, const WireWorker *worker)
{
    assert(worker->device_count <= WIRE_DEVICE_COUNT_MAX);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_slice(&writer, "name", worker->name);
    json_member_slice(&writer, "incarnation", worker->incarnation);
    json_member_slice(&writer, "state", worker->state);
    json_member_int64(&writer, "protocol", worker->versions.newest);
    json_member_int64(&writer, "protocol_oldest", worker->versions.oldest);
    json_member_int64(&writer, "running", worker->running_count);
    json_member_int64(&writer, "partitions", worker->partition_count);
    write_present(&writer, "no_gpu", worker->no_gpu);
    write_present(&writer, "labels", worker->labels);
    json_write_name(&writer, "devices");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < worker->device_count; index++) {
        write_device(&writer, &worker->devices[index]);
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
}

/* Checks what sums are made of. */
static Status
check_device(Call *call, const WireDevice *device)
{
    bool is_ok = device->thread_count >= 0 && device->thread_count <= WIRE_DEVICE_SLOTS_MAX &&
                 device->slot_count >= 0 && device->slot_count <= WIRE_DEVICE_SLOTS_MAX;
    return is_ok ? STATUS_OK
                 : call_fail(call, STATUS_INVALID_ARGUMENT,
                       "a device has %" PRId64 " threads and %" PRId64 " slots, each may be 0 to %d",
                       device->thread_count, device->slot_count, WIRE_DEVICE_SLOTS_MAX);
}

/* A worker that names one version speaks no other; one that names none speaks the first. */
static Status
settle_versions(Call *call, WireVersions *versions)
{
    versions->newest = versions->newest == 0 ? 1 : versions->newest;
    versions->oldest = versions->oldest == 0 ? versions->newest : versions->oldest;
    return versions->oldest > 0 && versions->oldest <= versions->newest
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "'protocol_oldest' %" PRId64 " and 'protocol' %" PRId64 " are no versions",
                     versions->oldest, versions->newest);
}

Status
wire_worker_read(Call *call, Slice json, WireWorker *ret_worker)
{
    WireWorker worker = {0};
    TRY(json_stream_read(call, json, &dialect, &worker_table, &worker));
    if (worker.name.size == 0 || worker.incarnation.size != INCARNATION_TEXT_SIZE - 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'name' or 'incarnation' is missing");
    }
    TRY(labels_check(call, worker.labels));
    TRY(settle_versions(call, &worker.versions));
    for (size_t index = 0; index < worker.device_count; index++) {
        TRY(check_device(call, &worker.devices[index]));
    }
    *ret_worker = worker;
    return STATUS_OK;
}

void
wire_key_encode(Buffer *buffer, Slice key)
{
    buffer_append_escaped(buffer, key);
}

static int
hex_digit(char digit)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *found = digit == '\0' ? NULL : strchr(digits, digit);
    return found == NULL ? -1 : (int)(found - digits);
}

bool
wire_key_decode(Arena *arena, Slice text, Slice *ret_key)
{
    assert(arena != NULL && ret_key != NULL);
    char *key = text_copy(arena, text);
    size_t size = 0;
    for (size_t index = 0; key != NULL && index < text.size; index++) {
        if (text.data[index] != '%') {
            key[size++] = text.data[index];
            continue;
        }
        Slice digits = slice_part(text, index + 1, 2);
        int high = digits.size == 2 ? hex_digit(digits.data[0]) : -1;
        int low = digits.size == 2 ? hex_digit(digits.data[1]) : -1;
        if (high < 0 || low < 0) {
            return false;
        }
        key[size++] = (char)(high * 16 + low);
        index += 2;
    }
    *ret_key = slice_of(key, size);
    return key != NULL;
}
