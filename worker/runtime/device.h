/* A device as the runtime sees it: a name, memory, and a way to run work. The CPU implements it in
 * worker/cpu; a CUDA plugin can implement it without the runtime changing.
 * Read by nvcc too: valid C11 and C++. */
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

/* Work for the device's threads (CPU: the pool; CUDA: the launching thread). Lives in its owner's struct. */
typedef struct DeviceWork DeviceWork;
struct DeviceWork {
    DeviceWork *next;
    void (*run)(DeviceWork *work);
};

struct Device {
    const char *type; /* "CPU", "GPU" */
    int id;           /* 0 for /device:CPU:0 */
    uint64_t incarnation;
    const char *isa; /* with which instructions kernels run; equal bits are promised per type and isa */
    int thread_count;
    uint64_t reserved; /* atomic: bytes that runs under way are planned to allocate */

    /* Uninitialised bytes, 64-byte aligned, or NULL when the limit is reached. The buffer's release gives
     * them back. Any thread; no system allocation for sizes seen before. */
    TensorBuffer *(*allocate)(Device *device, size_t size);
    void (*memory)(const Device *device, DeviceMemory *ret_memory);

    /* Counts to `account` what this thread allocates from here on; NULL: to nobody. Returns the account
     * before. Bodies of parallel_for() are counted to whom its caller charges. */
    MemoryAccount *(*charge)(Device *device, MemoryAccount *account);

    /* Counts `buffer`, which the caller alone holds, to the account that this thread charges. False: it is
     * counted already, or not to be counted here. */
    bool (*adopt)(Device *device, TensorBuffer *buffer);

    /* Queues work for a pool thread. Never runs it inline, never blocks. */
    void (*schedule)(Device *device, DeviceWork *work);

    /* Runs body(context, index) for index 0…count-1 on the pool's threads and the calling one, and returns
     * when all are done. How work is cut must depend on shapes only, never on the number of threads. */
    void (*parallel_for)(
        Device *device, int64_t count, void (*body)(void *context, int64_t index), void *context);
};
