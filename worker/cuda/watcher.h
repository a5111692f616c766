/* A thread that waits for the events of one stream, in their order, so that nobody else has to: what follows
 * is done by the host's threads. It polls for a moment, for what ends at once, and then sleeps in the driver.
 *
 * Ownership: an event that is added is the watcher's.
 * Threads:   any. */
#pragma once

#include "worker/cuda/events.h"

typedef struct CudaWatcher CudaWatcher;

typedef struct CudaWatcherOptions {
    Device *host; /* its threads call CudaEvent.passed */
    int card;
    /* Told the position of each event that has passed, by the watcher's thread; NULL: nobody is. */
    void (*passed)(void *context, uint64_t position);
    void *context;
} CudaWatcherOptions;

/* RESOURCE_EXHAUSTED. */
MUST_USE Status cuda_watcher_new(Call *call, const CudaWatcherOptions *options, CudaWatcher **ret_watcher);

/* Waits for the events that were added, and for the thread. NULL is allowed. */
void cuda_watcher_free(CudaWatcher *watcher);

/* Adds an event that was recorded. */
void cuda_watcher_add(CudaWatcher *watcher, CudaEvent *event);

/* Makes `stream` wait for an event that is under way and lies at `position` or behind it. False: there is
 * none, or CUDA refuses. */
bool cuda_watcher_lend(CudaWatcher *watcher, uint64_t position, cudaStream_t stream);
