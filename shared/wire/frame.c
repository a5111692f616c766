#include "shared/wire/frame.h"

#include <string.h>

#include "shared/wire/frame_layout.h"

size_t
frame_padding(size_t payload_size)
{
    return (FRAME_PAYLOAD_ALIGNMENT - payload_size % FRAME_PAYLOAD_ALIGNMENT) % FRAME_PAYLOAD_ALIGNMENT;
}

static void
zeros_append(Buffer *buffer, size_t size)
{
    static const char zeros[FRAME_ALIGNMENT];
    buffer_append(buffer, zeros, size);
}

/* Everything in front of the payload. */
static void
head_write(Buffer *buffer, FrameFixed fixed, const int64_t *dims, Slice name)
{
    if (name.size > FRAME_NAME_SIZE_MAX) {
        buffer->has_failed = true;
        return;
    }
    const uint32_t magic = FRAME_MAGIC;
    memcpy(fixed.magic, &magic, sizeof magic);
    fixed.name_size = (uint16_t)name.size;
    buffer_append(buffer, &fixed, sizeof fixed);
    buffer_append(buffer, dims, fixed.rank * sizeof *dims);
    buffer_append_slice(buffer, name);
    zeros_append(buffer, frame_head_size(fixed.rank, name.size) - frame_head_used(fixed.rank, name.size));
}

static void
strings_write(Buffer *buffer, const Tensor *tensor)
{
    const int64_t count = tensor_element_count(tensor);
    const Slice *const elements = tensor->data;
    for (int64_t index = 0; index < count; index++) {
        const uint64_t size = elements[index].size;
        buffer_append(buffer, &size, sizeof size);
    }
    for (int64_t index = 0; index < count; index++) {
        buffer_append_slice(buffer, elements[index]);
    }
    zeros_append(buffer, frame_padding(tensor_byte_size(tensor)));
}

void
frame_write_tensor_head(Buffer *buffer, Slice name, const Tensor *tensor)
{
    const FrameFixed fixed = {
        .kind = FRAME_TENSOR,
        .dtype = (uint8_t)tensor->dtype,
        .rank = (uint8_t)tensor->shape.rank,
        .payload_size = tensor_byte_size(tensor),
    };
    head_write(buffer, fixed, tensor->shape.dims, name);
    if (tensor->dtype == DTYPE_STRING) {
        strings_write(buffer, tensor);
    }
}

Slice
frame_tensor_payload(const Tensor *tensor)
{
    return tensor->dtype == DTYPE_STRING ? slice_of(NULL, 0)
                                         : slice_of(tensor->data, tensor_byte_size(tensor));
}

size_t
frame_tensor_size(Slice name, const Tensor *tensor)
{
    const size_t payload_size = tensor_byte_size(tensor);
    return frame_head_size((size_t)tensor->shape.rank, name.size) + payload_size +
           frame_padding(payload_size);
}

/* A frame without dimensions, payload included. */
static void
plain_write(Buffer *buffer, FrameKind kind, Slice name, Slice payload)
{
    const FrameFixed fixed = {.kind = (uint8_t)kind, .payload_size = payload.size};
    head_write(buffer, fixed, NULL, name);
    buffer_append_slice(buffer, payload);
    zeros_append(buffer, frame_padding(payload.size));
}

void
frame_write_json(Buffer *buffer, FrameKind kind, Slice json)
{
    plain_write(buffer, kind, slice_of(NULL, 0), json);
}

void
frame_write_dead(Buffer *buffer, Slice name)
{
    plain_write(buffer, FRAME_DEAD, name, slice_of(NULL, 0));
}

void
frame_write_announce(Buffer *buffer, Slice name, uint64_t byte_size)
{
    plain_write(buffer, FRAME_ANNOUNCE, name, slice_of(&byte_size, sizeof byte_size));
}

void
frame_write_heartbeat(Buffer *buffer)
{
    plain_write(buffer, FRAME_HEARTBEAT, slice_of(NULL, 0), slice_of(NULL, 0));
}
