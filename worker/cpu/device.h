/* /device:CPU:0 as the runtime sees it (worker/runtime/device.h): a caching allocator and a pool of
 * threads.
 *
 * Ownership: all buffers must be freed and all work done before cpu_device_free().
 * Threads:   the device's functions may be called from any thread.
 * Errors:    making one fails without memory or threads; others as in worker/runtime/device.h. */
#pragma once

#include "worker/runtime/device.h"

typedef struct CpuDeviceOptions {
    int thread_count;      /* 0: as many as this process may use */
    uint64_t memory_limit; /* bytes for tensors; 0: three quarters of the machine's memory */
    uint64_t cache_max;    /* bytes of freed blocks kept for later; 0: a quarter of the limit */
} CpuDeviceOptions;

MUST_USE Status cpu_device_new(Call *call, const CpuDeviceOptions *options, Device **ret_device);
void cpu_device_free(Device *device); /* NULL is allowed */

/* Returns cached blocks to the system until at most `keep` bytes are cached. */
void cpu_device_trim(Device *device, uint64_t keep);
