/* A tensor's frame into an HTTP/2 stream: the way of the gateway's requests and of the worker's answers.
 *
 * Ownership: the stream takes a reference to the tensor's buffer until the bytes have left.
 * Threads:   the stream's loop.
 * Errors:    a stream that takes no more drops the frame; its on_close says why. */
#pragma once

#include "shared/h2/h2.h"
#include "shared/tensor/tensor.h"

/* Small payloads are copied beside the frame's head, large ones are sent from the tensor's own buffer. */
void stream_write_tensor(H2Stream *stream, Slice name, const Tensor *tensor);

/* Bytes that stay valid until `buffer` is given back; a reference is taken. */
void stream_write_buffer(H2Stream *stream, Slice data, TensorBuffer *buffer);
