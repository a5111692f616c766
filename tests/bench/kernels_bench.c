/* What a matrix product and a convolution reach on this machine through the whole executor: GFLOP/s with
 * constant weights, for 1 thread and for all. Best of several rounds. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/graph/graph_def.h"
#include "tests/bench/report.h"
#include "tests/support/graph_literals.h"
#include "worker/cpu/device.h"
#include "worker/runtime/run.h"

enum { ROUNDS = 30 };

typedef struct Bench {
    Call call;
    Device *device;
    sem_t done; /* waited for asleep: a spinning thread would take a core from the kernels */
} Bench;

typedef struct Row {
    const char *name;
    const char *text;
    Shape input;
    double operations; /* a run */
} Row;

static const Row ROWS[] = {
    {"matmul 1024x1024x1024",
        "w = Const() dtype=float32 value=float32<1024,1024>(0.5)\ny = MatMul(x, w) T=float32\n",
        {.rank = 2, .dims = {1024, 1024}}, 2.0 * 1024 * 1024 * 1024},
    {"matmul 1x1024x1024",
        "w = Const() dtype=float32 value=float32<1024,1024>(0.5)\ny = MatMul(x, w) T=float32\n",
        {.rank = 2, .dims = {1, 1024}}, 2.0 * 1024 * 1024},
    {"conv 3x3 64->64 56x56 NHWC",
        "w = Const() dtype=float32 value=float32<3,3,64,64>(0.5)\n"
        "y = Conv2D(x, w) T=float32 strides=[1,1,1,1] padding='SAME'\n",
        {.rank = 4, .dims = {1, 56, 56, 64}}, 2.0 * 9 * 64 * 64 * 56 * 56},
    {"conv 3x3 64->64 56x56 NCHW",
        "w = Const() dtype=float32 value=float32<64,64,3,3>(0.5)\n"
        "y = onnx::Conv(x, w) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]\n",
        {.rank = 4, .dims = {1, 64, 56, 56}}, 2.0 * 9 * 64 * 64 * 56 * 56},
};

static void
must(Bench *bench, Status status)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "kernels_bench: %s\n", bench->call.error.message);
        exit(1);
    }
}

static void
on_output(void *context, uint32_t index, Tensor *tensor, bool is_dead)
{
    (void)context;
    (void)index;
    (void)tensor;
    (void)is_dead;
}

static void
on_done(void *context, const RunResult *result)
{
    Bench *bench = context;
    if (result->code != STATUS_OK) {
        fprintf(stderr, "kernels_bench: %s\n", result->message);
        exit(1);
    }
    sem_post(&bench->done);
}

static double
run_once(Bench *bench, Partition *partition, const Shape *shape)
{
    Tensor arg = {0};
    if (!tensor_new(DTYPE_FLOAT32, shape, &arg)) {
        exit(1);
    }
    memset(arg.data, 0, tensor_byte_size(&arg));
    const RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .callbacks = {.context = bench, .on_output = on_output, .on_done = on_done}};
    const uint64_t start_ns = clock_monotonic_ns();
    must(bench, run_start(&bench->call, &request, NULL));
    while (sem_wait(&bench->done) != 0) {}
    return (double)(clock_monotonic_ns() - start_ns);
}

static double
measure(Bench *bench, const Row *row)
{
    char text[1024];
    snprintf(
        text, sizeof text, "x = _Arg() T=float32 index=0\n%sout = _Retval(y) T=float32 index=0\n", row->text);
    AUTO_GRAPH_DEF def = graph_literal(text);
    MissingBlobs missing = {0};
    AUTO_PARTITION partition = NULL;
    double best = 1e18;
    must(bench, partition_compile(&bench->call, def, bench->device, NULL, &missing, &partition));
    for (int round = 0; round < ROUNDS; round++) {
        const double ns = run_once(bench, partition, &row->input);
        best = ns < best ? ns : best;
    }
    return best;
}

int
main(void)
{
    Bench bench = {.call.arena = arena_new(64 * 1024 * 1024)};
    sem_init(&bench.done, 0, 0);
    for (int threads = 1; threads >= 0; threads--) {
        const CpuDeviceOptions options = {.thread_count = threads, .memory_limit = 1 << 30};
        must(&bench, cpu_device_new(&bench.call, &options, &bench.device));
        for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
            const double ns = measure(&bench, &ROWS[i]);
            char name[80];
            snprintf(name, sizeof name, "%s, %d threads", ROWS[i].name, bench.device->thread_count);
            report_value(name, ROWS[i].operations / ns, "GFLOP/s", "");
        }
        cpu_device_free(bench.device);
    }
    arena_free(bench.call.arena);
    return 0;
}
