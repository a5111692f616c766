/* Measures the executor: nanoseconds a node on a chain and on a wide graph of tiny Adds, and microseconds
 * for the smallest whole run (one feed, one node, one fetch). The best of several rounds counts, since
 * others use the machine too. */
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/atomic.h"
#include "shared/base/buffer.h"
#include "shared/base/clock.h"
#include "shared/graph/graph_def.h"
#include "tests/bench/null_accelerator.h"
#include "tests/bench/report.h"
#include "tests/support/graph_literals.h"
#include "tests/support/loop_graphs.h"
#include "worker/cpu/device.h"
#include "worker/runtime/captures.h"
#include "worker/runtime/partition/compile.h"
#include "worker/runtime/run/run.h"

enum { ROUNDS = 200, RUNS_A_ROUND = 20 };

typedef struct Bench {
    Call call;
    Device *device;
    Device *accelerator; /* NULL: there is none */
    int done;            /* atomic */
} Bench;

static void
must(Bench *bench, Status status)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "executor_bench: %s\n", bench->call.error.message);
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
    if (result->failure->code != STATUS_OK) {
        fprintf(stderr, "executor_bench: %s\n", result->failure->message);
        exit(1);
    }
    atomic_store_release(&bench->done, 1);
}

static void
run_once(Bench *bench, Partition *partition)
{
    TensorBuffer *buffer = bench->device->allocate(bench->device, sizeof(float));
    *(float *)buffer->data = 1;
    Tensor arg = {.dtype = DTYPE_FLOAT32, .shape = shape_vector(1), .data = buffer->data, .buffer = buffer};
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .callbacks = {.context = bench, .on_output = on_output, .on_done = on_done}};
    atomic_store_relaxed(&bench->done, 0);
    must(bench, run_start(&bench->call, &request, NULL));
    while (atomic_load_acquire(&bench->done) == 0) {}
}

/* Returns the nanoseconds of one run. Fused nodes would count as one node: `passes_off` keeps them apart. */
static double
measure_without(Bench *bench, const char *text, const Slice *passes_off, size_t passes_off_count)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    MissingBlobs missing = {0};
    AUTO_PARTITION partition = NULL;
    double best = 1e18;
    def->passes_off = passes_off;
    def->passes_off_count = passes_off_count;
    DeviceSet devices = {.host = bench->device, .accelerator = bench->accelerator};
    must(bench, partition_compile(&bench->call, def, devices, NULL, &missing, &partition));
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start_ns = clock_monotonic_ns();
        for (int i = 0; i < RUNS_A_ROUND; i++) {
            run_once(bench, partition);
        }
        double ns = (double)(clock_monotonic_ns() - start_ns) / RUNS_A_ROUND;
        best = ns < best ? ns : best;
    }
    return best;
}

static double
measure(Bench *bench, const char *text)
{
    const Slice fusion[] = {SLICE("elementwise_fusion")};
    return measure_without(bench, text, fusion, COUNT_OF(fusion));
}

static void
chain_text(Buffer *text, int count)
{
    buffer_append_string(text, "n0 = _Arg() T=float32 index=0\n");
    for (int i = 1; i <= count; i++) {
        buffer_append_format(text, "n%d = Add(n%d, n%d) T=float32\n", i, i - 1, i - 1);
    }
    buffer_append_format(text, "out = _Retval(n%d) T=float32 index=0\n", count);
}

/* Writes a graph whose Adds all read the feed, and whose one join waits for all of them. */
static void
wide_text(Buffer *text, int count)
{
    buffer_append_string(text, "x = _Arg() T=float32 index=0\n");
    for (int i = 0; i < count; i++) {
        buffer_append_format(text, "a%d = Add(x, x) T=float32\n", i);
    }
    for (int i = 0; i < count; i += 20) {
        buffer_append_format(text, "j%d = Identity(x", i);
        for (int k = i; k < i + 20 && k < count; k++) {
            buffer_append_format(text, ", ^a%d", k);
        }
        buffer_append_string(text, ") T=float32\n");
    }
    buffer_append_string(text, "out = _Retval(x) T=float32 index=0\n");
}

/* Writes the loop v ← v + 1 while the counter is below `count`: two nodes that compute, and the test. */
static void
while_text(Buffer *text, int count)
{
    buffer_append_string(text, "x = _Arg() T=float32 index=0\n"
                               "zero = Const() dtype=int32 value=int32(0)\n" LOOP_COUNTER("i", "loop", "zero",
                                   "limit", "") LOOP_VARIABLE("v", "i", "loop", "x", ""));
    buffer_append_format(text, "limit = Const() dtype=int32 value=int32(%d)\n", count);
    buffer_append_string(text, "step = Const(^v_body) dtype=float32 value=float32(1)\n"
                               "v_new = Add(v_body, step) T=float32\n"
                               "out = _Retval(v_exit) T=float32 index=0\n");
}

/* Writes the smallest loop: one variable, which is counted up and tested. */
static void
short_while_text(Buffer *text, int count)
{
    buffer_append_format(text,
        "x = _Arg() T=float32 index=0\n"
        "limit = Const() dtype=float32 value=float32(%d)\n"
        "one = Const() dtype=float32 value=float32(1)\n"
        "enter = Enter(x) T=float32 frame_name='loop'\n"
        "merge = Merge(enter, next) T=float32 N=2\n"
        "less = Less(merge, limit) T=float32\n"
        "cond = LoopCond(less)\n"
        "switch = Switch(merge, cond) T=float32\n"
        "add = Add(switch:1, one) T=float32\n"
        "next = NextIteration(add) T=float32\n"
        "exit = Exit(switch) T=float32\n"
        "out = _Retval(exit) T=float32 index=0\n",
        count + 1);
}

/* Measures what the host does for a step whose kernels enqueue nothing, one after another and replayed. */
static void
report_captures(Bench *bench)
{
    enum { KERNELS = 100 };
    AUTO_BUFFER chain = {0};
    CapturesOptions options = {.graph_max = 1};
    chain_text(&chain, KERNELS);
    bench->accelerator = null_accelerator(&bench->call, bench->device);
    double plain_ns = measure(bench, buffer_string(&chain));
    bench->accelerator->captures = captures_new(bench->accelerator, &options);
    double captured_ns = measure(bench, buffer_string(&chain));
    captures_free(TAKE(bench->accelerator->captures));
    report_value("step of 100 kernels, one by one", plain_ns / 1000, "us", "");
    report_value("step of 100 kernels, captured", captured_ns / 1000, "us", "< 50");
}

int
main(void)
{
    enum { COUNT = 1000 };
    Bench bench = {.call.arena = arena_new(64 * 1024 * 1024)};
    AUTO_BUFFER chain = {0};
    AUTO_BUFFER wide = {0};
    AUTO_BUFFER loop = {0};
    AUTO_BUFFER short_loop = {0};
    CpuDeviceOptions options = {.memory_limit = 1 << 30};
    must(&bench, cpu_device_new(&bench.call, &options, &bench.device));
    chain_text(&chain, COUNT);
    wide_text(&wide, COUNT);
    double chain_ns = measure(&bench, buffer_string(&chain));
    double fused_ns = measure_without(&bench, buffer_string(&chain), NULL, 0);
    double wide_ns = measure(&bench, buffer_string(&wide));
    while_text(&loop, COUNT);
    short_while_text(&short_loop, COUNT);
    double loop_ns = measure(&bench, buffer_string(&loop));
    double short_loop_ns = measure(&bench, buffer_string(&short_loop));
    double identity_ns = measure(&bench, "x = _Arg() T=float32 index=0\n"
                                         "y = Identity(x) T=float32\n"
                                         "out = _Retval(y) T=float32 index=0\n");
    double add_ns = measure(&bench, "x = _Arg() T=float32 index=0\n"
                                    "y = Add(x, x) T=float32\n"
                                    "out = _Retval(y) T=float32 index=0\n");
    report_value("chain of 1000 Adds", chain_ns / COUNT, "ns/node", "< 300");
    report_value("chain of 1000 Adds, fused", fused_ns / COUNT, "ns/node", "");
    report_value("1000 Adds side by side", wide_ns / COUNT, "ns/node", "< 300");
    report_value("loop of 1000 turns: test and Add", short_loop_ns / COUNT / 1000, "us/turn", "< 0.66");
    report_value("loop of 1000 turns: counter and Add", loop_ns / COUNT / 1000, "us/turn", "");
    report_value("executor, chain", COUNT / chain_ns * 1e3, "Mnodes/s", "");
    report_value("executor, wide graph", COUNT / wide_ns * 1e3, "Mnodes/s", "");
    report_value("run of feed, Identity, fetch", identity_ns / 1000, "us", "");
    report_value("run of feed, Add, fetch", add_ns / 1000, "us", "");
    report_captures(&bench);
    cpu_device_free(bench.device);
    arena_free(bench.call.arena);
    return 0;
}
