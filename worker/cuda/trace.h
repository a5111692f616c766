/* The trace of a run on the card (begin_trace() of a Device). CUPTI tells of every kernel and copy
 * (activity.h); where it cannot be used, events around what each node enqueues tell how long that took.
 *
 * Ownership: a CudaTrace is its run's.
 * Threads:   spans by the thread that enqueues; end() when the run's work has ended.
 * Errors:    none: a span without memory or event is counted as lost. */
#pragma once

#include <cuda_runtime_api.h>

#include "worker/runtime/device.h"

typedef struct CudaTrace CudaTrace;

/* What is enqueued in a stream between two moments. */
typedef struct CudaSpan {
    CudaTrace *trace; /* NULL: nothing is traced */
    struct TimedSpan *timed;
    cudaStream_t stream;
} CudaSpan;

/* NULL without memory. */
MUST_USE CudaTrace *cuda_trace_begin(int card);

/* Tells what the card did, and frees the trace. */
void cuda_trace_end(CudaTrace *trace, DeviceReport *ret_report);

/* Say which node this thread enqueues work for (Device.mark), and ask for it, for what is enqueued later. */
void cuda_trace_set_mark(uint64_t mark);
uint64_t cuda_trace_mark(void);

/* Surround what is enqueued in a stream that nobody else uses meanwhile; `trace` may be NULL. `track` is a
 * constant: the stream as a reader of the trace knows it. */
CudaSpan cuda_span_begin(
    CudaTrace *trace, uint64_t mark, cudaStream_t stream, const char *track, uint64_t bytes);
void cuda_span_end(CudaSpan *span);
