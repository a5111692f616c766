/* Pinned memory of the host, in chunks, through which all copies pass: CUDA copies from and to other memory
 * only by making the calling thread wait. Who finds no chunk free is called when there is one, in the order
 * in which they asked.
 *
 * Ownership: a chunk is the taker's until it is given back.
 * Threads:   any. */
#pragma once

#include "shared/base/list.h"
#include "worker/cuda/watcher.h"

enum { CUDA_CHUNK_SIZE = 4 << 20, CUDA_CHUNKS_MIN = 4 };

typedef struct CudaStaging CudaStaging;

typedef struct CudaChunk {
    ListLink link;
    CudaStaging *staging;
    char *data; /* CUDA_CHUNK_SIZE bytes */
    /* The members that follow are the taker's. */
    size_t used;
    size_t offset;
    int32_t users; /* atomic */
    void *owner;
    /* The event of a chunk that the card still reads: it is given back when this has passed. */
    CudaEvent *event;
    CudaWatcher *watcher;
} CudaChunk;

/* One that waits for a chunk. Embedded in the struct of its owner. */
typedef struct CudaWaiter {
    ListLink link;
    CudaChunk *chunk; /* the taker's when `work` runs */
    DeviceWork work;
} CudaWaiter;

/* RESOURCE_EXHAUSTED. */
MUST_USE Status cuda_staging_new(Call *call, Device *host, size_t chunk_count, CudaStaging **ret_staging);
void cuda_staging_free(CudaStaging *staging); /* NULL is allowed; all chunks are back, or behind an event */

/* Returns a chunk; else NULL, and waiter->work runs on a thread of the host when there is one. */
CudaChunk *cuda_staging_take(CudaStaging *staging, CudaWaiter *waiter);
void cuda_staging_give(CudaChunk *chunk);

/* Gives a chunk back as soon as `event` has passed, which `watcher` watches: only when somebody wants it is
 * anyone asked. */
void cuda_staging_give_behind(CudaChunk *chunk, CudaEvent *event, CudaWatcher *watcher);
