/* CUDA's events, which mark places in streams. They are made once and used again.
 *
 * Ownership: an event is the taker's until cuda_events_give(); a watcher (watcher.h) gives back its own.
 * Threads:   any.
 * Errors:    taking one fails with a code of CUDA's, for cuda_check(). */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "shared/base/mutex.h"
#include "worker/runtime/device.h"

typedef struct CudaEvents CudaEvents;

typedef struct CudaEvent CudaEvent;
struct CudaEvent {
    CudaEvent *next; /* in the pool or in a watcher's queue */
    CudaEvent *next_made;
    CudaEvents *events;
    cudaEvent_t event;
    uint64_t position;          /* in its lane (lane.h); 0: in another stream */
    char node[ERROR_NODE_SIZE]; /* the last one whose work was enqueued before, or "" */
    /* Called by a thread of the host when the event has passed; NULL: nobody wants to know. */
    void (*passed)(void *context, int error);
    void *context;
    int error; /* met by the stream before the event */
    DeviceWork work;
};

struct CudaEvents {
    Mutex lock;
    CudaEvent *available;
    CudaEvent *made;
};

void cuda_events_init(CudaEvents *events);
MUST_USE int cuda_events_make(CudaEvents *events, int count); /* ahead of their use */
void cuda_events_done(CudaEvents *events);                    /* all have been given back */

MUST_USE int cuda_events_take(CudaEvents *events, CudaEvent **ret_event);
void cuda_events_give(CudaEvent *event);

/* Returns cudaSuccess when what was enqueued before the event has ended, cudaErrorNotReady, or the error of
 * the stream. Leaves no error in the calling thread. */
int cuda_event_ask(const CudaEvent *event);
