/* The life of one request, from its headers to the end of its stream: what the server's HTTP/2 handlers call.
 *
 * Ownership: the request hangs on stream->context from request_on_headers() to request_on_close().
 * Threads:   the loop's.
 * Errors:    answered to the caller, never returned. */
#pragma once

#include "worker/serve/worker.h"

void request_on_headers(WorkerLoop *loop, H2Stream *stream, const H2Header *headers, size_t count);
void request_on_data(H2Stream *stream, Slice data);
void request_on_end(H2Stream *stream);
void request_on_close(H2Stream *stream, Status reason);
void request_free_spares(WorkerLoop *loop); /* when the loop ends */

/* Returns the limits of a request's frames. Tensors from the wire live in the device's memory and count
 * against its limit. `tensor_size_max`: 0 for the worker's own, which no other passes. */
FrameLimits request_frame_limits(Worker *worker, size_t tensor_size_max);
