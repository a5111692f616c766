/* A call under way: its memory, and what its owner does with it. */
#include <stdio.h>

#include "shared/base/memory.h"
#include "shared/upstream/internal.h"
#include "shared/upstream/tensor_stream.h"

enum {
    CALL_ARENA_SIZE_MAX = 4 << 20,
    SPARE_CALLS_MAX = 256,
};

/* --- Life ----------------------------------------------------------------------------------------------- */

void
upstream_call_free(UpstreamCall *call)
{
    frame_reader_free(call->reader);
    buffer_done(&call->body);
    arena_free(call->arena);
    memory_free(call);
}

void
upstream_call_end(UpstreamCall *call, Status status, const char *message)
{
    Upstream *const upstream = call->upstream;
    timer_clear(upstream->loop, &call->deadline);
    call->events->on_done(call, status, message);
    if (upstream->spare_count == SPARE_CALLS_MAX) {
        upstream_call_free(call);
        return;
    }
    buffer_done(&call->body);
    arena_clear(call->arena);
    list_append(&upstream->spare_calls, &call->link);
    upstream->spare_count++;
}

UpstreamCall *
upstream_call_new(Upstream *upstream)
{
    if (upstream->spare_count > 0) {
        UpstreamCall *const spare = LIST_ITEM(upstream->spare_calls.next, UpstreamCall, link);
        list_remove(&spare->link);
        upstream->spare_count--;
        return spare;
    }
    UpstreamCall *const call = memory_new(1, sizeof *call);
    Arena *const arena = arena_new(CALL_ARENA_SIZE_MAX);
    if (call == NULL || arena == NULL) {
        memory_free(call);
        arena_free(arena);
        return NULL;
    }
    call->arena = arena;
    return call;
}

void
upstream_call_break(UpstreamCall *call, Status status, const char *message)
{
    if (call->failure == STATUS_OK) {
        call->failure = status;
        (void)snprintf(call->message, sizeof call->message, "%s", message);
        h2_stream_reset(call->stream, STATUS_CANCELLED);
    }
}

/* --- For its owner -------------------------------------------------------------------------------------- */

void
upstream_write_copy(UpstreamCall *call, Slice data)
{
    if (call->stream != NULL) {
        (void)h2_stream_write_copy(call->stream, data);
    }
}

void
upstream_write_buffer(UpstreamCall *call, Slice data, TensorBuffer *buffer)
{
    if (call->stream != NULL) {
        stream_write_buffer(call->stream, data, buffer);
    }
}

void
upstream_write_tensor(UpstreamCall *call, Slice name, const Tensor *tensor)
{
    if (call->stream != NULL) {
        stream_write_tensor(call->stream, name, tensor);
    }
}

void
upstream_end(UpstreamCall *call)
{
    if (call->stream != NULL) {
        h2_stream_end(call->stream);
    }
}

void
upstream_pause(UpstreamCall *call)
{
    call->is_paused = true;
}

void
upstream_resume(UpstreamCall *call)
{
    const size_t owed = call->owed;
    call->is_paused = false;
    call->owed = 0;
    if (owed > 0 && call->failure == STATUS_OK) {
        h2_stream_consume(call->stream, owed);
    }
}

void
upstream_cancel(UpstreamCall *call)
{
    if (call->stream != NULL) {
        upstream_call_break(call, STATUS_CANCELLED, "the caller gave up");
    } else {
        call->failure = STATUS_CANCELLED;
    }
}

static void
detached_on_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)status;
    (void)message;
}

void
upstream_detach(UpstreamCall *call)
{
    static const UpstreamEvents detached = {.on_done = detached_on_done};
    call->events = &detached;
    call->context = NULL;
    upstream_cancel(call);
}

void *
upstream_context(const UpstreamCall *call)
{
    return call->context;
}

int
upstream_http_status(const UpstreamCall *call)
{
    return call->http_status;
}

Slice
upstream_body(const UpstreamCall *call)
{
    return buffer_slice(&call->body);
}
