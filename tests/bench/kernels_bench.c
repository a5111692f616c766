/* Speed of matrix products and convolutions with constant weights through the whole executor, in GFLOP/s,
 * for 1 thread and for all; and how long element-wise nodes take, fused and apart. The best of several
 * rounds counts. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/graph/graph_def.h"
#include "tests/bench/report.h"
#include "tests/support/graph_literals.h"
#include "worker/cpu/device.h"
#include "worker/runtime/partition/compile.h"
#include "worker/runtime/run/run.h"

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
    double operations; /* floating-point operations of a run; 0: the row is its time */
    Dtype dtype;       /* the input's */
} Row;

#define SCALAR(name, value) name " = Const() dtype=float32 value=float32(" value ")\n"

/* m × k by k × n. */
#define PRODUCT(m, k, n)                                                                                     \
    {                                                                                                        \
        "matmul " #m "x" #k "x" #n,                                                                          \
            "w = Const() dtype=float32 value=float32<" #k "," #n ">(0.5)\ny = MatMul(x, w) T=float32\n",     \
            {.rank = 2, .dims = {m, k}}, 2.0 * (m) * (k) * (n), DTYPE_FLOAT32                                \
    }

static const Row ROWS[] = {
    PRODUCT(1024, 1024, 1024),
    PRODUCT(128, 768, 3072),
    PRODUCT(197, 192, 576),
    PRODUCT(26, 512, 1024),
    PRODUCT(1, 1024, 1024),
    PRODUCT(1, 70, 600),
    {"conv 3x3 64->64 56x56 NHWC",
        "w = Const() dtype=float32 value=float32<3,3,64,64>(0.5)\n"
        "y = Conv2D(x, w) T=float32 strides=[1,1,1,1] padding='SAME'\n",
        {.rank = 4, .dims = {1, 56, 56, 64}}, 2.0 * 9 * 64 * 64 * 56 * 56, DTYPE_FLOAT32},
    {"conv 3x3 64->64 56x56 NCHW",
        "w = Const() dtype=float32 value=float32<64,64,3,3>(0.5)\n"
        "y = onnx::Conv(x, w) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]\n",
        {.rank = 4, .dims = {1, 64, 56, 56}}, 2.0 * 9 * 64 * 64 * 56 * 56, DTYPE_FLOAT32},
    {"conv 5x1 256->512 512x1 NCHW",
        "w = Const() dtype=float32 value=float32<512,256,5,1>(0.5)\n"
        "y = onnx::Conv(x, w) T=float32 kernel_shape=[5,1] pads=[2,0,2,0]\n",
        {.rank = 4, .dims = {1, 256, 512, 1}}, 2.0 * 5 * 256 * 512 * 512, DTYPE_FLOAT32},
    {"conv 5 256->512 512 NCW",
        "w = Const() dtype=float32 value=float32<512,256,5>(0.5)\n"
        "y = onnx::Conv(x, w) T=float32 kernel_shape=[5] pads=[2,2]\n",
        {.rank = 3, .dims = {1, 256, 512}}, 2.0 * 5 * 256 * 512 * 512, DTYPE_FLOAT32},
    {"lstm of 26 steps, 512->256",
        "w = Const() dtype=float32 value=float32<1,1024,512>(~0.1)\n"
        "r = Const() dtype=float32 value=float32<1,1024,256>(~0.1)\n"
        "y = onnx::LSTM(x, w, r) T=float32 hidden_size=256\n",
        {.rank = 3, .dims = {26, 1, 512}}, 2.0 * 26 * 1024 * (512 + 256), DTYPE_FLOAT32},
    {"gru of 26 steps, 512->256",
        "w = Const() dtype=float32 value=float32<1,768,512>(~0.1)\n"
        "r = Const() dtype=float32 value=float32<1,768,256>(~0.1)\n"
        "y = onnx::GRU(x, w, r) T=float32 hidden_size=256\n",
        {.rank = 3, .dims = {26, 1, 512}}, 2.0 * 26 * 768 * (512 + 256), DTYPE_FLOAT32},
    {"matmul 512x512x512 float64", "y = MatMul(x, x) T=float64\n", {.rank = 2, .dims = {512, 512}},
        2.0 * 512 * 512 * 512, DTYPE_FLOAT64},
};

static const Row ROW_ROWS[] = {
    {.name = "attention of 12 heads, 197x64",
        .text = "y = onnx::Attention(x, x, x) T1=float32 T2=float32\n",
        .input = {.rank = 4, .dims = {1, 12, 197, 64}},
        .dtype = DTYPE_FLOAT32},
    {.name = "causal attention of 32 heads, 512x64",
        .text = "y = onnx::Attention(x, x, x) T1=float32 T2=float32 is_causal=1\n",
        .input = {.rank = 4, .dims = {1, 32, 512, 64}},
        .dtype = DTYPE_FLOAT32},
    {.name = "attention of one token, 32 heads, past of 1023",
        .text = "p = Const() dtype=float32 value=float32<1,32,1023,64>(0.5;0.25;-0.5)\n"
                "y = onnx::Attention(x, x, x, , p, p) T1=float32 T2=float32 is_causal=1\n",
        .input = {.rank = 4, .dims = {1, 32, 1, 64}},
        .dtype = DTYPE_FLOAT32},
    {.name = "rms norm, 512x2048",
        .text = "s = Const() dtype=float32 value=float32<2048>(0.5)\n"
                "y = onnx::RMSNormalization(x, s) T=float32 V=float32\n",
        .input = {.rank = 2, .dims = {512, 2048}},
        .dtype = DTYPE_FLOAT32},
    {.name = "group norm, 32 of 320x64x64",
        .text = "s = Const() dtype=float32 value=float32<320>(0.5)\n"
                "y = onnx::GroupNormalization(x, s, s) T=float32 num_groups=32\n",
        .input = {.rank = 4, .dims = {1, 320, 64, 64}},
        .dtype = DTYPE_FLOAT32},
    {.name = "instance norm, 64x128x128",
        .text = "s = Const() dtype=float32 value=float32<64>(0.5)\n"
                "y = onnx::InstanceNormalization(x, s, s) T=float32\n",
        .input = {.rank = 4, .dims = {1, 64, 128, 128}},
        .dtype = DTYPE_FLOAT32},
    {.name = "rotary embedding of 32 heads, 512x64",
        .text = "c = Const() dtype=float32 value=float32<1,512,32>(0.5)\n"
                "y = onnx::RotaryEmbedding(x, c, c) T=float32\n",
        .input = {.rank = 4, .dims = {1, 32, 512, 64}},
        .dtype = DTYPE_FLOAT32},
};

static const Row ELEMENTWISE_ROWS[] = {
    {.name = "8 element-wise nodes, 4 MiB",
        .text =
            SCALAR("k", "0.5") "a = Mul(x, k) T=float32\nb = Add(a, k) T=float32\nc = Relu(b) T=float32\n"
                               "d = Sub(c, x) T=float32\ne = Mul(d, c) T=float32\nf = Add(e, x) T=float32\n"
                               "g = Maximum(f, k) T=float32\ny = Mul(g, k) T=float32\n",
        .input = {.rank = 2, .dims = {1024, 1024}},
        .dtype = DTYPE_FLOAT32},
    {.name = "gelu written out, 4 MiB",
        .text = SCALAR("half", "0.5") SCALAR("one", "1") SCALAR("root",
            "1.4142135") "a = RealDiv(x, root) T=float32\nb = Erf(a) T=float32\nc = Add(b, one) T=float32\n"
                         "d = Mul(x, c) T=float32\ny = Mul(d, half) T=float32\n",
        .input = {.rank = 2, .dims = {1024, 1024}},
        .dtype = DTYPE_FLOAT32},
    {.name = "layer norm written out, 4 MiB",
        .text = SCALAR("epsilon", "0.001") "axis = Const() dtype=int32 value=int32(1)\n"
                                           "scale = Const() dtype=float32 value=float32<1024>(0.5)\n"
                                           "mean = Mean(x, axis) T=float32 Tidx=int32 keep_dims=true\n"
                                           "d = Sub(x, mean) T=float32\ns = Square(d) T=float32\n"
                                           "v = Mean(s, axis) T=float32 Tidx=int32 keep_dims=true\n"
                                           "w = Add(v, epsilon) T=float32\nr = Rsqrt(w) T=float32\n"
                                           "n = Mul(d, r) T=float32\nm = Mul(n, scale) T=float32\n"
                                           "y = Add(m, scale) T=float32\n",
        .input = {.rank = 2, .dims = {1024, 1024}},
        .dtype = DTYPE_FLOAT32},
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
    if (result->failure->code != STATUS_OK) {
        fprintf(stderr, "kernels_bench: %s\n", result->failure->message);
        exit(1);
    }
    sem_post(&bench->done);
}

/* Fills with numbers from -4 to 4: the time of some functions depends on their argument. */
static void
fill(const Tensor *tensor)
{
    enum { PERIOD = 977 };
    int64_t count = tensor_element_count(tensor);
    for (int64_t index = 0; index < count; index++) {
        double value = 8 * (double)(index % PERIOD) / PERIOD - 4;
        if (tensor->dtype == DTYPE_FLOAT64) {
            ((double *)tensor->data)[index] = value;
        } else {
            ((float *)tensor->data)[index] = (float)value;
        }
    }
}

static double
run_once(Bench *bench, Partition *partition, const Row *row)
{
    Tensor arg = {0};
    if (!tensor_new(row->dtype, &row->input, &arg)) {
        exit(1);
    }
    fill(&arg);
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .callbacks = {.context = bench, .on_output = on_output, .on_done = on_done}};
    uint64_t start_ns = clock_monotonic_ns();
    must(bench, run_start(&bench->call, &request, NULL));
    while (sem_wait(&bench->done) != 0) {}
    return (double)(clock_monotonic_ns() - start_ns);
}

static double
measure(Bench *bench, const Row *row, bool is_fused)
{
    const Slice passes_off[] = {SLICE("elementwise_fusion")};
    const char *dtype = dtype_name(row->dtype);
    char text[2048];
    snprintf(text, sizeof text, "x = _Arg() T=%s index=0\n%sout = _Retval(y) T=%s index=0\n", dtype,
        row->text, dtype);
    AUTO_GRAPH_DEF def = graph_literal(text);
    MissingBlobs missing = {0};
    AUTO_PARTITION partition = NULL;
    double best = 1e18;
    def->passes_off = passes_off;
    def->passes_off_count = is_fused ? 0 : COUNT_OF(passes_off);
    must(
        bench, partition_compile(&bench->call, def, device_alone(bench->device), NULL, &missing, &partition));
    for (int round = 0; round < ROUNDS; round++) {
        double ns = run_once(bench, partition, row);
        best = ns < best ? ns : best;
    }
    return best;
}

static void
report_products(Bench *bench)
{
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        double ns = measure(bench, &ROWS[i], true);
        char name[80];
        snprintf(name, sizeof name, "%s, %d threads", ROWS[i].name, bench->device->thread_count);
        report_value(name, ROWS[i].operations / ns, "GFLOP/s", "");
    }
}

static void
report_elementwise(Bench *bench)
{
    for (size_t i = 0; i < 2 * COUNT_OF(ELEMENTWISE_ROWS); i++) {
        const Row *row = &ELEMENTWISE_ROWS[i / 2];
        bool is_fused = i % 2 == 0;
        char name[80];
        snprintf(name, sizeof name, "%s, %s, %d threads", row->name, is_fused ? "fused" : "apart",
            bench->device->thread_count);
        report_value(name, measure(bench, row, is_fused) / 1e6, "ms", "");
    }
}

static void
report_rows(Bench *bench)
{
    for (size_t i = 0; i < COUNT_OF(ROW_ROWS); i++) {
        char name[80];
        snprintf(name, sizeof name, "%s, %d threads", ROW_ROWS[i].name, bench->device->thread_count);
        report_value(name, measure(bench, &ROW_ROWS[i], true) / 1e6, "ms", "");
    }
}

int
main(void)
{
    Bench bench = {.call.arena = arena_new(64 * 1024 * 1024)};
    sem_init(&bench.done, 0, 0);
    for (int threads = 1; threads >= 0; threads--) {
        CpuDeviceOptions options = {.thread_count = threads, .memory_limit = 1 << 30};
        must(&bench, cpu_device_new(&bench.call, &options, &bench.device));
        report_products(&bench);
        report_rows(&bench);
        report_elementwise(&bench);
        cpu_device_free(bench.device);
    }
    arena_free(bench.call.arena);
    return 0;
}
