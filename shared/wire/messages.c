#include "shared/wire/messages.h"

#include "shared/json/scanner.h"
#include "shared/json/writer.h"

/* --- Reading by table ----------------------------------------------------------------------------------- */

typedef struct Member Member;
typedef bool (*MemberRead)(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct);

struct Member {
    const char *name;
    MemberRead read;
    size_t offset;
};

static bool
read_text(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    return json_string(scanner, arena, (Slice *)(void *)((char *)ret_struct + member->offset));
}

static bool
read_integer(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)arena;
    return json_int64(scanner, (int64_t *)(void *)((char *)ret_struct + member->offset));
}

/* One object; members that the table does not name are passed over. */
static bool
read_object(JsonScanner *scanner, Arena *arena, const Member *members, void *ret_struct)
{
    Slice name;
    if (!json_object_begin(scanner)) {
        return false;
    }
    while (json_object_next(scanner, &name)) {
        const Member *member = members;
        while (member->name != NULL && !slice_equals_string(name, member->name)) {
            member++;
        }
        Slice passed_over;
        const bool is_read = member->name != NULL ? member->read(scanner, arena, member, ret_struct)
                                                  : json_skip(scanner, &passed_over);
        if (!is_read) {
            return false;
        }
    }
    return true;
}

static Status
read_document(Call *call, Slice json, const Member *members, void *ret_struct)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, json, JSON_DEPTH_MAX);
    (void)read_object(&scanner, call->arena, members, ret_struct);
    return json_scan_end(call, &scanner);
}

/* --- Run ------------------------------------------------------------------------------------------------ */

static const Member peer_members[] = {
    {"slot", read_integer, offsetof(WirePeer, slot)},
    {"address", read_text, offsetof(WirePeer, address)},
    {"incarnation", read_text, offsetof(WirePeer, incarnation)},
    {"push_token", read_text, offsetof(WirePeer, push_token)},
    {0},
};

static bool
read_peers(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)member;
    WireRun *const run = ret_struct;
    if (!json_array_begin(scanner)) {
        return false;
    }
    while (json_array_next(scanner)) {
        if (run->peer_count == SLOT_COUNT_MAX) {
            json_fault(scanner, "more than 16 peers");
            return false;
        }
        if (!read_object(scanner, arena, peer_members, &run->peers[run->peer_count++])) {
            return false;
        }
    }
    return true;
}

static bool
read_trace(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)member;
    Slice trace;
    if (!json_string(scanner, arena, &trace)) {
        return false;
    }
    ((WireRun *)ret_struct)->has_trace = slice_equals_string(trace, "node");
    return true;
}

static bool
read_flag(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)arena;
    return json_boolean(scanner, (bool *)(void *)((char *)ret_struct + member->offset));
}

static const Member run_members[] = {
    {"partition", read_text, offsetof(WireRun, partition)},
    {"session", read_text, offsetof(WireRun, session)},
    {"attempt", read_integer, offsetof(WireRun, attempt)},
    {"slot", read_integer, offsetof(WireRun, slot)},
    {"feeds", read_integer, offsetof(WireRun, feed_count)},
    {"fetches", read_integer, offsetof(WireRun, fetch_count)},
    {"push_token", read_text, offsetof(WireRun, push_token)},
    {"memory_limit", read_integer, offsetof(WireRun, memory_limit)},
    {"open_size", read_integer, offsetof(WireRun, open_size)},
    {"trace", read_trace, 0},
    {"partial", read_flag, offsetof(WireRun, is_partial)},
    {"state_place", read_integer, offsetof(WireRun, state_place)},
    {"state_epoch", read_integer, offsetof(WireRun, state_epoch)},
    {"peers", read_peers, 0},
    {0},
};

void
wire_run_write(Buffer *buffer, const WireRun *run)
{
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
    if (run->state_epoch > 0) {
        json_member_int64(&writer, "state_place", run->state_place);
        json_member_int64(&writer, "state_epoch", run->state_epoch);
    }
    if (run->peer_count > 0) {
        json_write_name(&writer, "peers");
        json_write_array_begin(&writer);
        for (size_t index = 0; index < run->peer_count; index++) {
            const WirePeer *const peer = &run->peers[index];
            json_write_object_begin(&writer);
            json_member_int64(&writer, "slot", peer->slot);
            json_member_slice(&writer, "address", peer->address);
            json_member_slice(&writer, "incarnation", peer->incarnation);
            json_member_slice(&writer, "push_token", peer->push_token);
            json_write_object_end(&writer);
        }
        json_write_array_end(&writer);
    }
    json_write_object_end(&writer);
}

Status
wire_run_read(Call *call, Slice json, WireRun *ret_run)
{
    WireRun run = {.attempt = -1, .slot = -1};
    TRY(read_document(call, json, run_members, &run));
    if (run.partition.size != DIGEST_TEXT_SIZE - 1) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "'partition' must be a sha256 digest of 64 hex digits");
    }
    const bool is_in_range = run.attempt >= 1 && run.slot >= 0 && run.slot < SLOT_COUNT_MAX &&
                             run.feed_count >= 0 && run.feed_count <= UINT16_MAX && run.fetch_count >= 0 &&
                             run.fetch_count <= UINT16_MAX && run.memory_limit >= 0;
    if (!is_in_range) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'attempt', 'slot', 'feeds', 'fetches' or 'memory_limit' is missing or out of range");
    }
    *ret_run = run;
    return STATUS_OK;
}

/* --- Status --------------------------------------------------------------------------------------------- */

static bool
read_code(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)member;
    Slice name;
    return json_string(scanner, arena, &name) && status_from_name(name, &((WireStatus *)ret_struct)->code);
}

static bool
read_digests(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    enum { MISSING_MAX = 4096 };
    (void)member;
    WireStatus *const status = ret_struct;
    return json_strings(scanner, arena, MISSING_MAX, &status->missing_blobs, &status->missing_blob_count);
}

static const Member status_members[] = {
    {"code", read_code, 0},
    {"message", read_text, offsetof(WireStatus, message)},
    {"node", read_text, offsetof(WireStatus, node)},
    {"reason", read_text, offsetof(WireStatus, reason)},
    {"incarnation", read_text, offsetof(WireStatus, incarnation)},
    {"missing_blobs", read_digests, 0},
    {0},
};

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
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_string(&writer, "code", status_name(status->code));
    write_present(&writer, "message", status->message);
    write_present(&writer, "node", status->node);
    write_present(&writer, "reason", status->reason);
    write_present(&writer, "incarnation", status->incarnation);
    if (status->missing_blob_count > 0) {
        json_member_slices(&writer, "missing_blobs", status->missing_blobs, status->missing_blob_count);
    }
    json_write_object_end(&writer);
}

Status
wire_status_read(Call *call, Slice json, WireStatus *ret_status)
{
    WireStatus status = {.code = STATUS_UNKNOWN};
    TRY(read_document(call, json, status_members, &status));
    *ret_status = status;
    return STATUS_OK;
}

/* --- Containers ----------------------------------------------------------------------------------------- */

static bool
read_containers(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)member;
    WireReset *const reset = ret_struct;
    return json_strings(scanner, arena, WIRE_CONTAINERS_MAX, &reset->containers, &reset->container_count);
}

static const Member reset_members[] = {
    {"session", read_text, offsetof(WireReset, session)},
    {"containers", read_containers, 0},
    {0},
};

void
wire_reset_write(Buffer *buffer, const WireReset *reset)
{
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
    TRY(read_document(call, json, reset_members, &reset));
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
    static const Member members[] = {{"resources", read_integer, 0}, {0}};
    int64_t count = -1;
    TRY(read_document(call, json, members, &count));
    if (count < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'resources' is missing or out of range");
    }
    *ret_resource_count = count;
    return STATUS_OK;
}

/* --- Statistics ----------------------------------------------------------------------------------------- */

static bool
read_json(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)arena;
    return json_skip(scanner, (Slice *)(void *)((char *)ret_struct + member->offset));
}

static const Member stats_members[] = {
    {"elapsed_us", read_integer, offsetof(WireStats, elapsed_us)},
    {"nodes", read_integer, offsetof(WireStats, node_count)},
    {"bytes_in", read_integer, offsetof(WireStats, bytes_in)},
    {"bytes_out", read_integer, offsetof(WireStats, bytes_out)},
    {"planned_bytes", read_integer, offsetof(WireStats, planned_bytes)},
    {"peak_bytes", read_integer, offsetof(WireStats, peak_bytes)},
    {"trace", read_json, offsetof(WireStats, trace)},
    {0},
};

void
wire_stats_write(Buffer *buffer, const WireStats *stats)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_int64(&writer, "elapsed_us", stats->elapsed_us);
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
    TRY(read_document(call, json, stats_members, &stats));
    *ret_stats = stats;
    return STATUS_OK;
}

/* --- Worker --------------------------------------------------------------------------------------------- */

static const Member device_members[] = {
    {"type", read_text, offsetof(WireDevice, type)},
    {"id", read_integer, offsetof(WireDevice, id)},
    {"isa", read_text, offsetof(WireDevice, isa)},
    {"threads", read_integer, offsetof(WireDevice, thread_count)},
    {"memory_limit", read_integer, offsetof(WireDevice, memory_limit)},
    {"memory_in_use", read_integer, offsetof(WireDevice, memory_in_use)},
    {0},
};

static bool
read_devices(JsonScanner *scanner, Arena *arena, const Member *member, void *ret_struct)
{
    (void)member;
    WireWorker *const worker = ret_struct;
    if (!json_array_begin(scanner)) {
        return false;
    }
    while (json_array_next(scanner)) {
        if (worker->device_count == WIRE_DEVICE_COUNT_MAX) {
            json_fault(scanner, "more than 16 devices");
            return false;
        }
        if (!read_object(scanner, arena, device_members, &worker->devices[worker->device_count++])) {
            return false;
        }
    }
    return true;
}

static const Member worker_members[] = {
    {"name", read_text, offsetof(WireWorker, name)},
    {"incarnation", read_text, offsetof(WireWorker, incarnation)},
    {"state", read_text, offsetof(WireWorker, state)},
    {"running", read_integer, offsetof(WireWorker, running_count)},
    {"partitions", read_integer, offsetof(WireWorker, partition_count)},
    {"devices", read_devices, 0},
    {0},
};

void
wire_worker_write(Buffer *buffer, const WireWorker *worker)
{
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_slice(&writer, "name", worker->name);
    json_member_slice(&writer, "incarnation", worker->incarnation);
    json_member_slice(&writer, "state", worker->state);
    json_member_int64(&writer, "protocol", WIRE_PROTOCOL_VERSION);
    json_member_int64(&writer, "running", worker->running_count);
    json_member_int64(&writer, "partitions", worker->partition_count);
    json_write_name(&writer, "devices");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < worker->device_count; index++) {
        const WireDevice *const device = &worker->devices[index];
        json_write_object_begin(&writer);
        json_member_slice(&writer, "type", device->type);
        json_member_int64(&writer, "id", device->id);
        json_member_slice(&writer, "isa", device->isa);
        json_member_int64(&writer, "threads", device->thread_count);
        json_member_int64(&writer, "memory_limit", device->memory_limit);
        json_member_int64(&writer, "memory_in_use", device->memory_in_use);
        json_write_object_end(&writer);
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
}

Status
wire_worker_read(Call *call, Slice json, WireWorker *ret_worker)
{
    WireWorker worker = {0};
    TRY(read_document(call, json, worker_members, &worker));
    if (worker.name.size == 0 || worker.incarnation.size != INCARNATION_TEXT_SIZE - 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'name' or 'incarnation' is missing");
    }
    *ret_worker = worker;
    return STATUS_OK;
}
