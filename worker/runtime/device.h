/* A device as the runtime sees it: a name, memory, and a way to run work. The CPU device is in worker/cpu;
 * others come from plugins (plugin.h). A worker has one host, whose threads run everything, and at most one
 * accelerator, which has a memory of its own and computes in the order in which kernels enqueue their work.
 *
 * This header is valid C11 and C++, so that nvcc can read it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/base/failure.h"
#include "shared/tensor/tensor.h"

typedef struct Device Device;
typedef struct MemoryAccount MemoryAccount; /* memory_account.h */

typedef struct DeviceMemory {
    uint64_t limit; /* bytes that may be allocated */
    uint64_t in_use;
    uint64_t peak;
    uint64_t allocation_count;
    uint64_t cached;       /* bytes that an accelerator holds for later; 0 on the host */
    uint64_t largest_free; /* bytes of them that one allocation can have; 0 on the host */
} DeviceMemory;

/* The reasons why a part of a graph is not captured (captures.h). */
typedef enum CaptureRefusal {
    CAPTURE_IS_LARGE,       /* its work outweighs what launches take */
    CAPTURE_LACKS_MEMORY,   /* there is none for its arena, on the device or on the host */
    CAPTURE_READS_MUCH,     /* what it reads on the host is too large to be compared in each run */
    CAPTURE_DEVICE_REFUSES, /* the device could not capture what a kernel did */
    CAPTURE_LAUNCH_FAILED,  /* it was captured, and the device then failed to begin the work */
    CAPTURE_REFUSALS,
} CaptureRefusal;

/* The kernels that an accelerator makes while it runs, for groups of nodes. */
typedef enum DeviceCode {
    DEVICE_CODE_COMPILED,
    DEVICE_CODE_FOUND, /* in memory or on disk */
    DEVICE_CODE_FAILED,
    DEVICE_CODE_EVENTS,
} DeviceCode;

/* The work that an accelerator was given, and what failed of it. All are atomic. */
typedef struct DeviceCounts {
    uint64_t kernels;   /* nodes that it computed */
    uint64_t kept;      /* nodes about shapes that the host computed although it has kernels for them */
    uint64_t missing;   /* nodes that the host computed because it has no kernels for them */
    uint64_t uploads;   /* tensors copied to it during runs */
    uint64_t downloads; /* tensors copied from it */
    uint64_t uploaded_bytes;
    uint64_t downloaded_bytes;
    uint64_t busy_ns;  /* time in which it had work of runs; 0: it does not tell */
    uint64_t library;  /* nodes that a library of its vendor computed */
    uint64_t plain;    /* nodes that such a library might have computed, and a kernel of ours did */
    uint64_t full;     /* allocations for steps that found no room */
    uint64_t refused;  /* calls that its driver refused: a step failed, the device serves on */
    uint64_t broken;   /* errors that took it out of service */
    uint64_t captured; /* parts of graphs that were captured */
    uint64_t replayed; /* runs of such, each at once */
    uint64_t uncaptured[CAPTURE_REFUSALS]; /* captures that were refused, by reason */
    uint64_t code[DEVICE_CODE_EVENTS];     /* kernels for groups of nodes */
} DeviceCounts;

/* A mark says which node of a traced run enqueues work; 0: none. */
#define DEVICE_MARK_BITS 44
#define DEVICE_MARK_MAX ((UINT64_C(1) << DEVICE_MARK_BITS) - 1)

/* One thing that an accelerator did for a traced run, with times on the host's monotonic clock. */
typedef struct DeviceActivity {
    uint64_t mark;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t bytes;    /* of a copy or a fill */
    uint64_t captured; /* a number of the piece of captured work that it is; 0: it was not captured */
    uint32_t grid[3];  /* of a kernel: its blocks, and the threads of one; 0: it is none */
    uint32_t block[3];
    char track[24]; /* what it was done by: "stream 7", "copy in" */
    char name[72];  /* "": it is all that the node did */
} DeviceActivity;

typedef struct DeviceReport {
    DeviceActivity *activities; /* by memory_new(); NULL: none */
    size_t activity_count;
    uint64_t lost_count; /* activities that are not told, of this run or of others at the same time */
    char source[192];    /* who tells it: "CUPTI 13.0" */
} DeviceReport;

/* Work for the threads of the device (for the CPU: its pool). Embedded in the struct of its owner, who
 * keeps it alive until run() has been called. */
typedef struct DeviceWork DeviceWork;
struct DeviceWork {
    DeviceWork *next;
    void (*run)(DeviceWork *work);
};

/* A run's place in a queue of an accelerator: what is enqueued there is computed in that order, for several
 * runs one after another. What kernels find wrong with the values that they compute with (an index out of
 * range, a division by zero) fails the run of the lane and no other. */
typedef struct DeviceLane DeviceLane;

/* A copy of bytes between the host's memory and an accelerator's, in either direction, or within the latter.
 * Embedded in the struct of its owner, who keeps it alive until done() has been called. */
typedef struct DeviceCopy DeviceCopy;
struct DeviceCopy {
    DeviceLane *lane;   /* NULL: the copy is of no run */
    TensorBuffer *from; /* the device takes references of its own to both, for as long as it needs them */
    TensorBuffer *to;
    size_t from_offset; /* bytes from the buffers' data */
    size_t to_offset;
    size_t size; /* bytes, more than 0 */
    /* Called once, on any thread, possibly before copy() returns; `failure` is NULL when the copy is good. To
     * the host: the bytes have come, and no kernel of the lane has found a wrong value before; else it fails
     * as that kernel's node (INVALID_ARGUMENT). To the accelerator: `from` may change, and work that is
     * enqueued in the lane from now on finds the bytes. */
    void (*done)(DeviceCopy *copy, const Failure *failure);
};

/* The end of all work of a run, of which a wrong value is told that no copy to the host has told. Embedded in
 * the struct of its owner, who keeps it alive until passed() has been called. */
typedef struct DeviceFence DeviceFence;
struct DeviceFence {
    DeviceLane *lane;
    /* Called once, on any thread, possibly before fence() returns. */
    void (*passed)(DeviceFence *fence, const Failure *failure);
};

/* Work that was captured: what kernels enqueued, which the device can do again, any number of times, at the
 * same addresses. */
typedef struct DeviceGraph DeviceGraph;

/* Bytes that are copied within an accelerator's memory. */
typedef struct DeviceMove {
    void *to;
    const void *from;
    size_t size; /* more than 0 */
} DeviceMove;

/* One turn of captured work: copies of its inputs to where the work reads them, and of its outputs to where
 * the run wants them. */
typedef struct DeviceReplay {
    DeviceGraph *graph;
    const DeviceMove *inputs;
    uint32_t input_count;
    const DeviceMove *outputs;
    uint32_t output_count;
} DeviceReplay;

typedef struct Captures Captures; /* captures.h */

/* The owner of what a worker keeps in a device's memory for later, beyond what runs hold. */
typedef struct DeviceKeeper {
    /* Frees what was used longest ago of that which nobody uses now, of this tenant (memory_account.h), or of
     * any for 0; false: there is none. Called on any thread, in the middle of a kernel too. NULL: nothing is
     * kept. */
    bool (*give_up)(void *context, uint64_t tenant);
    void *context;
} DeviceKeeper;

struct Device {
    const char *type; /* "CPU", "GPU" */
    int id;           /* 0 for /device:CPU:0 */
    uint64_t incarnation;
    /* The instruction set of the kernels ("avx512"); results have equal bits on devices of equal type and
     * isa. */
    const char *isa;
    int thread_count;
    bool prefers_channels_last; /* of an accelerator: 16-bit convolutions are faster so */
    bool allows_tf32;        /* of an accelerator: float32 may be multiplied in TF32, where a partition allows
                              * that too */
    uint16_t memory_number;  /* of the memory in which allocate() makes buffers: MEMORY_HOST, or its own */
    DeviceCounts counts;     /* of an accelerator */
    uint64_t reserved;       /* atomic: bytes that runs under way were planned to allocate */
    int64_t partition_count; /* atomic, of the host: partitions compiled for it and not freed yet */
    DeviceKeeper keeper;     /* set before the first run */
    uint64_t constants_max;  /* bytes that a partition may keep of what it makes of constants (fold.c); 0: a
                              * quarter of the memory. Set before the first partition is compiled */
    Captures *captures; /* of an accelerator: set before the first partition is compiled; NULL: it captures
                         * nothing */

    /* Returns uninitialised bytes, aligned to 64 (an accelerator's to 256), or NULL when the limit is
     * reached. Releasing the buffer frees them: at once on the host; on an accelerator, what is enqueued
     * before may still use them, and what is enqueued later may get them. May be called on any thread; makes
     * no system allocation for a size seen before. */
    TensorBuffer *(*allocate)(Device *device, size_t size);
    void (*memory)(const Device *device, DeviceMemory *ret_memory);

    /* Charges `account` for what this thread allocates from now on; NULL charges nobody. Returns the
     * account charged before. The bodies of parallel_for() charge the account of its caller, on every
     * thread. */
    MemoryAccount *(*charge)(Device *device, MemoryAccount *account);

    /* All that follows up to `lane` is the host's alone, and NULL in an accelerator. */

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

    /* Returns whether work of about `cost_ns`, which the calling thread could do itself, had better be
     * scheduled: another thread is free, or may soon be, and the work is worth the hand-over. */
    bool (*takes_over)(Device *device, uint64_t cost_ns);

    /* Runs body(context, index) for index 0…count-1 on the pool's threads and the calling one, and returns
     * when all are done. Callers divide the work by shapes only, never by the number of threads: results
     * would depend on it. */
    void (*parallel_for)(
        Device *device, int64_t count, void (*body)(void *context, int64_t index), void *context);

    /* All that follows is an accelerator's alone, and NULL in the host. */

    /* Opens a lane for a run, or returns NULL: the host has no memory for it. Closes it when all its copies
     * and its fence have come. */
    DeviceLane *(*open_lane)(Device *device);
    void (*close_lane)(Device *device, DeviceLane *lane);

    /* Surround each compute() of a kernel of this device, which may enqueue work in the lane between the two
     * and must not wait for it. The lane is this thread's alone meanwhile. leave() fails when the device has
     * refused what was enqueued, or has found an earlier error: UNAVAILABLE once it is out of service. */
    void (*enter)(Device *device, DeviceLane *lane);
    Status (*leave)(Call *call, Device *device, DeviceLane *lane);

    /* Capture work instead of doing it (CUDA graphs); NULL: the device cannot. Between the two, the lane is
     * this thread's alone, kernels are computed without enter() and leave(), and `inputs` have been or will
     * be copied before anything reads them. end_capture() ends what begin_capture() began, also after a
     * failure, of which nothing is left. Errors: any; the work can still be done without a capture. */
    Status (*begin_capture)(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *inputs);
    Status (*end_capture)(Call *call, Device *device, DeviceLane *lane, DeviceGraph **ret_graph);

    /* Enqueues copies and captured work in the lane, without a wait. Kernels of the graph that find a wrong
     * value blame the run of this lane. FAILED_PRECONDITION: nothing is enqueued, and the graph is of no use
     * any more. */
    Status (*replay)(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *replay);

    /* Frees the graph when the device has done all that it was enqueued for; may return before. */
    void (*free_graph)(Device *device, DeviceGraph *graph);

    /* Begin a copy or a fence; never wait for its end. Called outside of enter() and leave(). */
    void (*copy)(Device *device, DeviceCopy *copy);
    void (*fence)(Device *device, DeviceFence *fence);

    /* Trace a run: end_trace() tells what the lane did since begin_trace(), when all of that has ended.
     * False: there is no memory for it, and nothing to end. mark() says which node this thread enqueues work
     * for from now on, in a lane that may be traced. All three are NULL in a device that cannot tell. */
    bool (*begin_trace)(Device *device, DeviceLane *lane);
    void (*mark)(Device *device, uint64_t mark);
    void (*end_trace)(Device *device, DeviceLane *lane, DeviceReport *ret_report);

    /* Returns why the device is out of service for good, or NULL: it serves. The text lives as long as the
     * device. */
    const char *(*fault)(Device *device);
};

/* The devices of a worker. */
typedef struct DeviceSet {
    Device *host;
    Device *accelerator; /* NULL: there is none */
} DeviceSet;

static inline DeviceSet
device_alone(Device *host)
{
    DeviceSet set = {host, NULL};
    return set;
}

static inline bool
device_is_host(const Device *device)
{
    return device->memory_number == MEMORY_HOST;
}
