/* A device as the runtime sees it: a name, memory, and a way to run work. The CPU device is in worker/cpu;
 * a GPU device can be added without a change to the runtime.
 *
 * This header is valid C11 and C++, so that nvcc can read it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/tensor/tensor.h"

typedef struct Device Device;
typedef struct MemoryAccount MemoryAccount; /* memory_account.h */

typedef struct DeviceMemory {
    uint64_t limit; /* bytes that may be allocated */
    uint64_t in_use;
    uint64_t peak;
    uint64_t allocation_count;
} DeviceMemory;

/* Work for the threads of the device (for the CPU: its pool). Embedded in the struct of its owner, who
 * keeps it alive until run() has been called. */
typedef struct DeviceWork DeviceWork;
struct DeviceWork {
    DeviceWork *next;
    void (*run)(DeviceWork *work);
};

struct Device {
    const char *type; /* "CPU", "GPU" */
    int id;           /* 0 for /device:CPU:0 */
    uint64_t incarnation;
    /* The instruction set of the kernels ("avx512"); results have equal bits on devices of equal type and
     * isa. */
    const char *isa;
    int thread_count;
    uint64_t reserved; /* atomic: bytes that runs under way were planned to allocate */

    /* Returns uninitialised bytes, 64-byte aligned, or NULL when the limit is reached. Releasing the
     * buffer frees them. May be called on any thread; makes no system allocation for a size seen before. */
    TensorBuffer *(*allocate)(Device *device, size_t size);
    void (*memory)(const Device *device, DeviceMemory *ret_memory);

    /* Charges `account` for what this thread allocates from now on; NULL charges nobody. Returns the
     * account charged before. The bodies of parallel_for() charge the account of its caller, on every
     * thread. */
    MemoryAccount *(*charge)(Device *device, MemoryAccount *account);

    /* Charges this thread's account for `buffer`, which nobody but the caller holds. False: the buffer is
     * charged already, or this device does not count it. */
    bool (*adopt)(Device *device, TensorBuffer *buffer);

    /* Reads a clock of the device time that this thread has spent, together with the threads that took part
     * in its parallel_for(). Only the difference of two readings on one thread means something. */
    uint64_t (*computed_ns)(Device *device);

    /* Queues work for a pool thread. Never runs it on the calling thread, never blocks. */
    void (*schedule)(Device *device, DeviceWork *work);

    /* Returns whether scheduled work waits for a thread, as it was a moment ago. */
    bool (*is_wanted)(Device *device);

    /* Runs body(context, index) for index 0…count-1 on the pool's threads and the calling one, and returns
     * when all are done. Callers divide the work by shapes only, never by the number of threads: results
     * would depend on it. */
    void (*parallel_for)(
        Device *device, int64_t count, void (*body)(void *context, int64_t index), void *context);
};
