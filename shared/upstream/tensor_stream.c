#include "shared/upstream/tensor_stream.h"

#include "shared/wire/frame.h"

/* A smaller payload costs less as a copy beside the frame's head than as an entry of its own in the write
 * vector. */
enum { COPY_SIZE_MAX = 4096 };

static void
release_buffer(void *owner)
{
    tensor_buffer_unref(owner);
}

void
stream_write_buffer(H2Stream *stream, Slice data, TensorBuffer *buffer)
{
    (void)h2_stream_write(stream, data, release_buffer, tensor_buffer_ref(buffer));
}

void
stream_write_tensor(H2Stream *stream, Slice name, const Tensor *tensor)
{
    AUTO_BUFFER head = {0};
    frame_write_tensor_head(&head, name, tensor);
    Slice payload = frame_tensor_payload(tensor);
    Slice padding = slice_of("\0\0\0\0\0\0\0", frame_padding(payload.size));
    if (payload.size <= COPY_SIZE_MAX) {
        buffer_append_slice(&head, payload);
        buffer_append_slice(&head, padding);
        (void)h2_stream_write_copy(stream, buffer_slice(&head));
        return;
    }
    (void)h2_stream_write_copy(stream, buffer_slice(&head));
    stream_write_buffer(stream, payload, tensor->buffer);
    (void)h2_stream_write_copy(stream, padding);
}
