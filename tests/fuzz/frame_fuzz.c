/* Fuzzes frames: the first byte is the size of the pieces that arrive, the rest are frames or an error.
 * Tensors that are announced come in pieces if their names have an odd size. Frames that are read are written
 * as the same bytes, since a frame has only one form. */
#include <assert.h>

#include "shared/base/memory.h"
#include "shared/wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TENSOR_SIZE_MAX = 1 << 16 };

static void
tensor_write(Buffer *buffer, const Frame *frame)
{
    frame_write_tensor_head(buffer, frame->name, &frame->tensor);
    Slice payload = frame_tensor_payload(&frame->tensor);
    buffer_append_slice(buffer, payload);
    buffer_append(buffer, "\0\0\0\0\0\0\0", frame_padding(payload.size));
}

/* Writes what a part of a tensor's frame stands for. */
static void
part_write(Buffer *buffer, const Frame *frame)
{
    if (frame->part == FRAME_HEAD) {
        frame_write_head(buffer, frame->name, &frame->tensor, frame->payload_size);
    } else if (frame->part == FRAME_PIECE) {
        buffer_append_slice(buffer, frame->piece);
    } else {
        buffer_append(buffer, "\0\0\0\0\0\0\0", frame_padding(frame->payload_size));
    }
}

static void
frame_write(Buffer *buffer, const Frame *frame)
{
    switch (frame->kind) {
    case FRAME_TENSOR:
        tensor_write(buffer, frame);
        break;
    case FRAME_DEAD:
        frame_write_dead(buffer, frame->name);
        break;
    case FRAME_ANNOUNCE:
        frame_write_announce(buffer, frame->name, frame->announced_size);
        break;
    case FRAME_HEARTBEAT:
        frame_write_heartbeat(buffer);
        break;
    case FRAME_HEADER:
    case FRAME_STATUS:
    case FRAME_STATS:
        frame_write_json(buffer, frame->kind, frame->json);
        break;
    }
}

/* Reads one piece, of which a sanitizer knows the end. */
static Status
piece_read(Call *call, FrameReader *reader, Slice piece, Buffer *written)
{
    AUTO_MEMORY char *copy = memory_new(1, piece.size + 1);
    assert(copy != NULL);
    memcpy(copy, piece.data, piece.size);
    Slice left = slice_of(copy, piece.size);
    bool is_complete = true;
    while (left.size > 0 || is_complete) {
        Frame frame = {0};
        TRY(frame_read(call, reader, &left, &frame, &is_complete));
        bool passes = is_complete && frame.part == FRAME_HEAD && frame.name.size % 2 == 1;
        if (passes) {
            frame_reader_pass(reader);
        }
        if (passes || (is_complete && frame.part > FRAME_HEAD)) {
            part_write(written, &frame);
        } else if (is_complete && frame.part == FRAME_WHOLE) {
            frame_write(written, &frame);
            tensor_unref(&frame.tensor);
        }
    }
    return STATUS_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FrameLimits limits = {
        .tensor_size_max = TENSOR_SIZE_MAX, .total_size_max = TENSOR_SIZE_MAX * 2, .head_size_min = 9};
    FrameReader *reader = frame_reader_new(&limits);
    Call call = {0};
    AUTO_BUFFER written = {0};
    size_t piece_size = size == 0 ? 1 : (size_t)data[0] + 1;
    Slice all = size == 0 ? SLICE("") : slice_of(data + 1, size - 1);
    Status status = STATUS_OK;
    for (size_t start = 0; start < all.size && status == STATUS_OK; start += piece_size) {
        status = piece_read(&call, reader, slice_part(all, start, piece_size), &written);
    }
    assert(written.size <= all.size);
    assert(slice_equal(buffer_slice(&written), slice_part(all, 0, written.size)));
    if (status == STATUS_OK && frame_reader_is_between(reader)) {
        assert(written.size == all.size);
    }
    frame_reader_free(reader);
    return 0;
}
