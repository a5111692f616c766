/* A worker's work on a partition, for the fuzz targets of what tenants may run: it is compiled and runs
 * once. Any graph gives outputs or an error, an end, and leaves no byte of the device's memory. */
#pragma once

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "worker/cpu/device.h"
#include "worker/runtime/resource.h"
#include "worker/runtime/run/run.h"

enum { ONCE_ARGS_MAX = 16, ONCE_PATIENCE_MS = 50, ONCE_MEMORY_S = 60 };

/* Makes a device with one thread and so little memory that no tensor takes long. */
static inline Device *
once_device(void)
{
    static Device *device;
    CpuDeviceOptions options = {.thread_count = 1, .memory_limit = 8 << 20};
    Call call = {0};
    if (device == NULL && cpu_device_new(&call, &options, &device) != STATUS_OK) {
        abort();
    }
    return device;
}

typedef struct OnceRun {
    Device *device;
    void (*on_output)(void *context, uint32_t index, const Tensor *tensor);
    void *context;  /* passed to on_output(), which comes for live outputs, of several at once; may be NULL */
    int done_count; /* atomic */
} OnceRun;

static inline void
once_output(void *context, uint32_t index, Tensor *tensor, bool is_dead)
{
    const OnceRun *once = context;
    if (once->on_output != NULL && !is_dead) {
        once->on_output(once->context, index, tensor);
    }
}

static inline void
once_done(void *context, const RunResult *result)
{
    OnceRun *once = context;
    assert(result->failure->code == STATUS_OK || result->failure->message[0] != '\0');
    (void)atomic_add_acq_rel(&once->done_count, 1);
}

/* Waits for the end, and cancels the run after a while: a loop may be endless and a queue may stay empty. */
static inline void
once_wait(OnceRun *once, Run *run)
{
    struct timespec millisecond = {.tv_nsec = 1000 * 1000};
    for (int waited_ms = 0; atomic_load_acquire(&once->done_count) == 0; waited_ms++) {
        if (waited_ms == ONCE_PATIENCE_MS) {
            run_cancel(run, STATUS_CANCELLED, "it takes too long");
        }
        (void)nanosleep(&millisecond, NULL);
    }
    assert(atomic_load_acquire(&once->done_count) == 1);
}

/* Waits until all memory is back: a run that has reported its end may still be freeing it, on its own
 * thread. */
static inline void
once_assert_no_memory(Device *device)
{
    struct timespec pause = {.tv_nsec = 10 * 1000};
    uint64_t end_ns = clock_monotonic_ns() + ONCE_MEMORY_S * CLOCK_NS_PER_S;
    DeviceMemory memory = {0};
    device->memory(device, &memory);
    while (memory.in_use > 0) {
        assert(clock_monotonic_ns() < end_ns);
        (void)nanosleep(&pause, NULL);
        device->memory(device, &memory);
    }
}

/* Takes `args`. */
static inline void
once_run(OnceRun *once, Partition *partition, Tensor *args, uint32_t arg_count)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    ResourceContainer *container = container_new();
    Run *run = NULL;
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = arg_count,
        .rendezvous = rendezvous,
        .container = container,
        .callbacks = {.context = once, .on_output = once_output, .on_done = once_done}};
    assert(arena != NULL && rendezvous != NULL && container != NULL);
    if (run_start(&call, &request, &run) == STATUS_OK) {
        once_wait(once, run);
        run_unref(run);
    }
    rendezvous_unref(rendezvous);
    container_unref(container);
}
