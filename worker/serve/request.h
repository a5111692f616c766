/* The life of one request, from its headers to the end of its stream: the functions that the server's
 * HTTP/2 handlers call.
 *
 * Ownership: stream->context holds the request from request_on_headers() to request_on_close().
 * Threads:   the loop's.
 * Errors:    answered to the caller, never returned. */
#pragma once

#include "worker/serve/worker.h"

void request_on_headers(WorkerLoop *loop, H2Stream *stream, const H2Header *headers, size_t count);
void request_on_data(H2Stream *stream, Slice data);
void request_on_end(H2Stream *stream);
void request_on_close(H2Stream *stream, Status reason);
/* Frees the memory kept for later requests, when the loop is closed. */
void request_free_spares(WorkerLoop *loop);

/* Returns the limits for frames with tensors of at most `tensor_size_max` bytes; the worker's own limit
 * applies when it is lower, or when this is 0. Tensors are read into the device's memory and count against
 * its limit. */
FrameLimits request_frame_limits(Worker *worker, size_t tensor_size_max);
