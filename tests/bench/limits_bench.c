/* limits_bench [THREADS]   Prints the most that the machine can do on some threads (1): float32 multiply-adds
 * of operands in the L1 cache, and bytes copied between blocks of 4 MiB, each counted once read and once
 * written. The best of several rounds counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "tests/bench/report.h"
#include "worker/cpu/device.h"
#include "worker/cpu/product/microkernel.h"

enum {
    ROUNDS = 40,
    DEPTH = 64,
    TURNS = 2000,
    BLOCK = 4 << 20,
    PANEL_MAX = 64,
};

typedef struct Limits {
    Device *device;
    char *blocks; /* two for each thread */
} Limits;

static void
multiply(void *context, int64_t index)
{
    (void)context;
    (void)index;
    const MicroKernels *kernels = microkernels_choose();
    float a[MICROKERNEL_ROWS_MAX * MICROKERNEL_ROW_STEP] = {0};
    float b[DEPTH * PANEL_MAX] = {0};
    float sums[MICROKERNEL_ROWS_MAX * PANEL_MAX] = {0};
    MicroTile tile = {.a = a,
        .b = b,
        .b_step = kernels->columns,
        .depth = DEPTH,
        .sums = sums,
        .sums_step = kernels->columns};
    for (int turn = 0; turn < TURNS; turn++) {
        kernels->single[kernels->rows](&tile);
    }
}

static void
copy(void *context, int64_t index)
{
    const Limits *limits = context;
    memcpy(limits->blocks + (2 * index + 1) * BLOCK, limits->blocks + 2 * index * BLOCK, BLOCK);
}

/* Returns the nanoseconds of the best round, in which each thread runs once. */
static double
measure(Limits *limits, void (*run)(void *context, int64_t index))
{
    uint64_t best_ns = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin_ns = clock_monotonic_ns();
        limits->device->parallel_for(limits->device, limits->device->thread_count, run, limits);
        uint64_t ns = clock_monotonic_ns() - begin_ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    return (double)best_ns;
}

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    Limits limits = {0};
    Call call = {.arena = arena_new(1 << 20)};
    CpuDeviceOptions options = {.thread_count = threads, .memory_limit = 1 << 30};
    if (threads < 1 || cpu_device_new(&call, &options, &limits.device) != STATUS_OK) {
        fprintf(stderr, "usage: limits_bench [THREADS]\n");
        return 2;
    }
    TensorBuffer *room = limits.device->allocate(limits.device, 2 * (size_t)threads * BLOCK);
    if (room == NULL) {
        return 1;
    }
    limits.blocks = room->data;
    memset(limits.blocks, 1, 2 * (size_t)threads * BLOCK);
    const MicroKernels *kernels = microkernels_choose();
    double operations = 2.0 * kernels->rows * kernels->columns * DEPTH * TURNS * threads;
    report_value("multiply-adds", operations / measure(&limits, multiply), "GFLOP/s", "");
    report_value("copy", 2.0 * BLOCK * threads / measure(&limits, copy), "GB/s", "");
    tensor_buffer_unref(room);
    cpu_device_free(limits.device);
    arena_free(call.arena);
    return 0;
}
