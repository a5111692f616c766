/* Fuzzes the documents of the worker protocol: a document that is read is written, and that reads as the
 * same. The bytes are also a tensor's key in a path. */
#include <assert.h>

#include "shared/wire/messages.h"
#include "shared/wire/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_SIZE_MAX = 4 << 20 };

/* Reads `json` as one kind of document and writes it again; returns true when it is one. */
typedef bool (*Rewrite)(Call *call, Slice json, Buffer *written);

static bool
rewrite_run(Call *call, Slice json, Buffer *written)
{
    WireRun run;
    bool is_read = wire_run_read(call, json, &run) == STATUS_OK;
    if (is_read) {
        assert(run.peer_count <= SLOT_COUNT_MAX);
        wire_run_write(written, &run);
    }
    return is_read;
}

static bool
rewrite_binding(Call *call, Slice json, Buffer *written)
{
    WireBinding binding;
    bool is_read = wire_binding_read(call, json, &binding) == STATUS_OK;
    if (is_read) {
        wire_binding_write(written, &binding);
    }
    return is_read;
}

static bool
rewrite_status(Call *call, Slice json, Buffer *written)
{
    WireStatus status;
    bool is_read = wire_status_read(call, json, &status) == STATUS_OK;
    if (is_read) {
        wire_status_write(written, &status);
    }
    return is_read;
}

static bool
rewrite_stats(Call *call, Slice json, Buffer *written)
{
    WireStats stats;
    bool is_read = wire_stats_read(call, json, &stats) == STATUS_OK;
    if (is_read) {
        wire_stats_write(written, &stats);
    }
    return is_read;
}

static bool
rewrite_rest(Call *call, Slice json, Buffer *written)
{
    WireRest rest;
    bool is_read = wire_rest_read(call, json, &rest) == STATUS_OK;
    if (is_read) {
        wire_rest_write(written, &rest);
    }
    return is_read;
}

static bool
rewrite_reset(Call *call, Slice json, Buffer *written)
{
    WireReset reset;
    bool is_read = wire_reset_read(call, json, &reset) == STATUS_OK;
    if (is_read) {
        assert(reset.container_count <= WIRE_CONTAINERS_MAX);
        wire_reset_write(written, &reset);
    }
    return is_read;
}

static bool
rewrite_reset_answer(Call *call, Slice json, Buffer *written)
{
    int64_t resource_count = 0;
    bool is_read = wire_reset_answer_read(call, json, &resource_count) == STATUS_OK;
    if (is_read) {
        wire_reset_answer_write(written, resource_count);
    }
    return is_read;
}

static bool
rewrite_trace(Call *call, Slice json, Buffer *written)
{
    WireTrace trace;
    bool is_read = wire_trace_read(call, json, &trace) == STATUS_OK;
    if (is_read) {
        wire_trace_write(written, &trace);
    }
    return is_read;
}

static bool
rewrite_worker(Call *call, Slice json, Buffer *written)
{
    WireWorker worker;
    bool is_read = wire_worker_read(call, json, &worker) == STATUS_OK;
    if (is_read) {
        assert(worker.device_count <= WIRE_DEVICE_COUNT_MAX);
        wire_worker_write(written, &worker);
    }
    return is_read;
}

static bool
rewrite_assignment(Call *call, Slice json, Buffer *written)
{
    WireAssignment assignment;
    bool is_read = wire_assignment_read(call, json, &assignment) == STATUS_OK;
    if (is_read) {
        assert(assignment.group_count <= WIRE_NODE_GROUPS_MAX);
        wire_assignment_write(written, &assignment);
    }
    return is_read;
}

static void
check_document(Rewrite rewrite, Slice json)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    AUTO_BUFFER once = {0};
    AUTO_BUFFER twice = {0};
    assert(arena != NULL);
    if (rewrite(&call, json, &once)) {
        bool is_read = rewrite(&call, buffer_slice(&once), &twice);
        assert(is_read);
        assert(slice_equal(buffer_slice(&once), buffer_slice(&twice)));
    }
}

static void
check_key(Slice text)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    AUTO_BUFFER encoded = {0};
    Slice key;
    Slice again;
    assert(arena != NULL);
    if (wire_key_decode(arena, text, &key)) {
        wire_key_encode(&encoded, key);
        bool is_read = wire_key_decode(arena, buffer_slice(&encoded), &again);
        assert(is_read);
        assert(slice_equal(key, again));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const Rewrite rewrites[] = {rewrite_run, rewrite_binding, rewrite_status, rewrite_stats,
        rewrite_rest, rewrite_reset, rewrite_reset_answer, rewrite_trace, rewrite_worker, rewrite_assignment};
    for (size_t index = 0; index < COUNT_OF(rewrites); index++) {
        check_document(rewrites[index], slice_of(data, size));
    }
    if (size <= ARENA_SIZE_MAX / 8) {
        check_key(slice_of(data, size));
    }
    return 0;
}
