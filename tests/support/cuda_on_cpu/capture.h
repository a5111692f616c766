/* Captures of streams, and the graphs that they become: what is enqueued in a stream that is being captured
 * is recorded in a list, and calls that CUDA refuses in a capture get its error codes.
 *
 * Threads: any; under the lock of runtime.h. */
#pragma once

#include "tests/support/cuda_on_cpu/work.h"

/* Adds work to the capture that the stream is in; takes over the reference. */
void capture_record(Stream *stream, Work *work);

/* Returns the number of the capture that the stream is in; 0: in none. */
uint64_t capture_number(const Stream *stream);

/* Returns the capture that the event was recorded in, or NULL when it was none, or has ended. */
Graph *capture_of(const Event *event);

/* Orders a stream behind an event of a capture, of which the stream becomes a part. */
cudaError_t capture_wait(Stream *stream, Event *event, Graph *capture);

/* Breaks the capture that a stream is in, and returns the error. */
cudaError_t capture_break(Stream *stream, cudaError_t error);

/* Refuse calls that ask how far a stream or an event has got, which makes no sense in a capture. */
cudaError_t capture_refuse_stream(Stream *stream);
cudaError_t capture_refuse_event(const Event *event);

/* Returns cudaErrorStreamCaptureUnsupported, and breaks the captures, when one of them forbids this thread to
 * call what may synchronise the device; else cudaSuccess. */
cudaError_t capture_refuse_unsafe_call(void);
