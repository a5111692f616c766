/* Copies between the host and the card (DeviceCopy, worker/runtime/device.h).
 *
 * A large one goes chunk by chunk through pinned memory, on the stream of its direction, beside the lane and
 * ordered with it by events (rules.h). A small one shares a chunk with others and goes through the lane
 * itself: an event costs more than its bytes. Without a free chunk a copy is delayed; nobody waits.
 *
 * Threads: any; not within a turn of the lane. */
#pragma once

#include "worker/cuda/allocator.h"
#include "worker/cuda/staging.h"

enum { CUDA_SMALL_COPY_MAX = 64 << 10 };

typedef struct CudaCopies CudaCopies;

typedef struct CudaCopiesOptions {
    Device *host;
    CudaLane *lane;
    CudaEvents *events;
    CudaAllocator *allocator;
    size_t chunk_count;
} CudaCopiesOptions;

MUST_USE Status cuda_copies_new(Call *call, const CudaCopiesOptions *options, CudaCopies **ret_copies);
void cuda_copies_free(CudaCopies *copies); /* NULL is allowed; all copies are done */

/* Does as Device.copy. */
void cuda_copies_begin(CudaCopies *copies, DeviceCopy *copy);
