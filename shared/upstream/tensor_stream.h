/* Writes tensors' frames into HTTP/2 streams, for the gateway's requests and the worker's answers.
 *
 * Ownership: the stream takes a reference to the tensor's buffer until the bytes have left.
 * Threads:   the stream's loop.
 * Errors:    a stream that takes no more drops the frame; its on_close says why. */
#pragma once

#include "shared/h2/h2.h"
#include "shared/tensor/tensor.h"

/* Copies a small payload beside the frame's head; sends a large one from the tensor's own buffer. */
void stream_write_tensor(H2Stream *stream, Slice name, const Tensor *tensor);

/* Writes bytes of `buffer`, of which it takes a reference until they have left. */
void stream_write_buffer(H2Stream *stream, Slice data, TensorBuffer *buffer);
