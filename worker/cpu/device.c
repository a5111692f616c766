#include "worker/cpu/device.h"

#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "worker/cpu/allocator.h"
#include "worker/cpu/host_cores.h"
#include "worker/cpu/host_memory.h"
#include "worker/cpu/pool.h"

typedef struct CpuDevice {
    Device device;
    Allocator *allocator;
    Pool *pool;
} CpuDevice;

static CpuDevice *
cpu_device(const Device *device)
{
    return without_const(device);
}

static TensorBuffer *
cpu_allocate(Device *device, size_t size)
{
    return allocator_allocate(cpu_device(device)->allocator, size);
}

static void
cpu_memory(const Device *device, DeviceMemory *ret_memory)
{
    allocator_memory(cpu_device(device)->allocator, ret_memory);
}

static MemoryAccount *
cpu_charge(Device *device, MemoryAccount *account)
{
    return allocator_charge(cpu_device(device)->allocator, account);
}

static bool
cpu_adopt(Device *device, TensorBuffer *buffer)
{
    return allocator_adopt(cpu_device(device)->allocator, buffer);
}

static uint64_t
cpu_computed_ns(Device *device)
{
    (void)device;
    return pool_computed_ns();
}

static void
cpu_schedule(Device *device, DeviceWork *work)
{
    pool_schedule(cpu_device(device)->pool, work);
}

static bool
cpu_is_wanted(Device *device)
{
    return pool_is_wanted(cpu_device(device)->pool);
}

static bool
cpu_takes_over(Device *device, uint64_t cost_ns)
{
    return pool_takes_over(cpu_device(device)->pool, cost_ns);
}

typedef struct ChargedLoop {
    Allocator *allocator;
    MemoryAccount *account; /* of the run that calls */
    void (*body)(void *context, int64_t index);
    void *context;
} ChargedLoop;

static void
charged_body(void *context, int64_t index)
{
    const ChargedLoop *loop = context;
    MemoryAccount *before = allocator_charge(loop->allocator, loop->account);
    loop->body(loop->context, index);
    (void)allocator_charge(loop->allocator, before);
}

static void
cpu_parallel_for(Device *device, int64_t count, void (*body)(void *context, int64_t index), void *context)
{
    CpuDevice *cpu = cpu_device(device);
    ChargedLoop loop = {.allocator = cpu->allocator,
        .account = allocator_charged(cpu->allocator),
        .body = body,
        .context = context};
    pool_parallel_for(cpu->pool, (uintptr_t)body, count, charged_body, &loop);
}

/* Returns the widest instruction set by which the kernels and their library choose code. */
static const char *
cpu_isa(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return "avx512";
    }
    if (__builtin_cpu_supports("avx2")) {
        return "avx2";
    }
    return "sse4.1";
#else
    return "baseline";
#endif
}

static int
cpu_thread_count(int wanted)
{
    wanted = wanted == 0 ? host_cores() : wanted;
    return wanted < POOL_THREADS_MAX ? wanted : POOL_THREADS_MAX;
}

static uint64_t
cpu_memory_limit(uint64_t wanted)
{
    return wanted != 0 ? wanted : host_memory() / 4 * 3;
}

Status
cpu_device_new(Call *call, const CpuDeviceOptions *options, Device **ret_device)
{
    CpuDevice *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, "a device");
    }
    uint64_t limit = cpu_memory_limit(options->memory_limit);
    made->device = (Device){
        .type = "CPU",
        .incarnation = random_nonzero_uint64(),
        .isa = cpu_isa(),
        .thread_count = cpu_thread_count(options->thread_count),
        .allocate = cpu_allocate,
        .memory = cpu_memory,
        .charge = cpu_charge,
        .adopt = cpu_adopt,
        .computed_ns = cpu_computed_ns,
        .schedule = cpu_schedule,
        .is_wanted = cpu_is_wanted,
        .takes_over = cpu_takes_over,
        .parallel_for = cpu_parallel_for,
    };
    made->allocator = allocator_new(limit, options->cache_max == 0 ? limit / 4 : options->cache_max);
    made->pool = pool_new(made->device.thread_count, host_cores());
    if (made->allocator == NULL || made->pool == NULL) {
        cpu_device_free(&made->device);
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "no memory or threads for a device of %d threads",
            cpu_thread_count(options->thread_count));
    }
    *ret_device = &made->device;
    return STATUS_OK;
}

/* The threads end first: they keep caches of the allocator. */
void
cpu_device_free(Device *device)
{
    if (device != NULL) {
        pool_free(cpu_device(device)->pool);
        allocator_free(cpu_device(device)->allocator);
        memory_free(cpu_device(device));
    }
}

void
cpu_device_trim(Device *device, uint64_t keep)
{
    allocator_trim(cpu_device(device)->allocator, keep);
}
