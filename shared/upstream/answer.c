/* What comes back: the status and whether frames follow → frames, handed on one by one, or a document → the
 * end. An answer that cannot be read resets the stream and ends the call with INTERNAL. */
#include "shared/upstream/internal.h"

static void
expect_frames(UpstreamCall *call)
{
    const FrameLimits *const limits = &call->upstream->options.frames;
    if (call->reader == NULL) {
        call->reader = frame_reader_new(limits);
    } else {
        frame_reader_reset(call->reader, limits);
    }
    call->has_frames = call->reader != NULL;
    if (!call->has_frames) {
        upstream_call_break(call, STATUS_RESOURCE_EXHAUSTED, "no memory left for a worker's answer");
    }
}

static void
stream_on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    (void)is_last;
    UpstreamCall *const call = stream->context;
    for (size_t index = 0; index < count; index++) {
        uint64_t status = 0;
        if (slice_equals_string(headers[index].name, ":status") &&
            slice_to_uint64(headers[index].value, &status)) {
            call->http_status = (int)status;
        } else if (slice_equals_string(headers[index].name, "content-type") &&
                   slice_equals_string(headers[index].value, WIRE_CONTENT_TYPE_FRAMES) && !call->has_frames) {
            expect_frames(call);
        }
    }
}

static void
read_frames(UpstreamCall *call, Slice data)
{
    Call reading = {.arena = call->arena};
    bool is_complete = true;
    while (call->failure == STATUS_OK && is_complete) {
        Frame frame;
        if (frame_read(&reading, call->reader, &data, &frame, &is_complete) != STATUS_OK) {
            upstream_call_break(call, STATUS_INTERNAL, reading.error.message);
        } else if (is_complete && call->events->on_frame != NULL) {
            call->events->on_frame(call, &frame);
        } else if (is_complete) {
            tensor_unref(&frame.tensor);
        }
    }
}

static void
stream_on_data(H2Stream *stream, Slice data)
{
    UpstreamCall *const call = stream->context;
    if (call->has_frames) {
        read_frames(call, data);
    } else {
        buffer_append_slice(&call->body, data);
        if (!buffer_is_ok(&call->body)) {
            upstream_call_break(call, STATUS_INTERNAL, "a worker's answer is longer than 1 MiB");
        }
    }
    if (call->is_paused) {
        call->owed += data.size;
    } else {
        h2_stream_consume(stream, data.size);
    }
}

/* Whatever the request might still have brought, nobody waits for it. */
static void
stream_on_end(H2Stream *stream)
{
    h2_stream_end(stream);
}

static void
stream_on_close(H2Stream *stream, Status reason)
{
    UpstreamCall *const call = stream->context;
    if (call->failure != STATUS_OK) {
        upstream_call_end(call, call->failure, call->message);
    } else if (reason != STATUS_OK) {
        upstream_call_end(call, STATUS_UNAVAILABLE, "the connection to the worker was lost");
    } else if (call->has_frames && !frame_reader_is_between(call->reader)) {
        upstream_call_end(call, STATUS_INTERNAL, "the worker's answer ended within a frame");
    } else {
        upstream_call_end(call, STATUS_OK, "");
    }
}

static void
connection_on_disconnect(H2Connection *connection, Status reason)
{
    (void)reason;
    Peer *const peer = h2_context(connection);
    if (peer->connection == connection) {
        peer->connection = NULL;
    }
}

const H2Handlers upstream_handlers = {
    .on_headers = stream_on_headers,
    .on_data = stream_on_data,
    .on_end = stream_on_end,
    .on_close = stream_on_close,
    .on_disconnect = connection_on_disconnect,
};
