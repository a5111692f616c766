/* Sluice on a card, measured from outside: a worker as users run it, over HTTP/2.
 *
 *     cuda_bench ops|models|worker real|tiny [WORKER_ARGUMENT...]
 *
 * `ops`: single ops. Each is timed by graphs that have it once and many times over inputs that lie in the
 * session's variables, more of them than the card's cache holds; the difference is the op's own time, and the
 * request, the answer and the executor's beginning fall out of it.
 * `models`: whole networks and a training step, a step at a time, with request and answer.
 * `worker`: small steps, one and many under way; steps whose feed or fetch is large.
 * With BENCH_CASES in the environment only cases that have it in their name, dtype and shape are measured.
 * `tiny`: sizes that a CPU in place of a card computes soon, to prove that the bench itself works.
 *
 * It prints lines that tests/bundle/table makes a table of ("tiny time" and "tiny work" are no measurements):
 *     time  name  dtype  shape  system  median  lowest  highest  error      microseconds; error against the
 * CPU work  name  dtype  shape  bytes  operations                           what the op must at least do */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "tests/bench/cuda/bench_worker.h"
#include "tests/bench/cuda/cases.h"
#include "tests/bench/cuda/networks.h"

enum { ROUNDS = 30, WARM_ROUNDS = 3, NAME_SIZE = 96, SMALL_STEPS = 4096, ARGUMENTS_MAX = 64 };

static const char *mark; /* in front of lines that are no measurements */

typedef struct Bench {
    BenchWorker card;
    BenchWorker host;             /* computes the same without a card, for the errors */
    const char *const *arguments; /* of the worker with a card */
    const char *system;           /* in the lines of times of ops */
    bool is_tiny;
} Bench;

/* An op of one or two operands. In the text @a and @b are their names, @t the dtype. */
typedef struct Case {
    const char *name;
    const char *text;
    const char *before; /* constants that it reads; NULL: none */
    int ranks[2];       /* of the operands; 0: there is none */
    int dims[2][4];
    double output_elements;
    double operations; /* 0: only memory counts */
    int together;      /* so many make the time that is told; 0: one */
} Case;

/* Returns whether a case is to be measured. */
static bool
is_wanted(const char *name, const char *dtype, const char *shape)
{
    const char *wanted = getenv("BENCH_CASES");
    char text[4 * NAME_SIZE];
    (void)snprintf(text, sizeof text, "%s %s %s", name, dtype, shape);
    return wanted == NULL || strstr(text, wanted) != NULL;
}

/* Each case has variables of its own, and the card's memory to itself. */
static void
begin_case(Bench *bench)
{
    bench_worker_renew(&bench->card);
    bench_worker_renew(&bench->host);
}

static int
operand_count(const Case *op)
{
    return op->ranks[1] > 0 ? 2 : 1;
}

static void
write_dims(const Case *op, int operand, char *ret_text, size_t size)
{
    size_t used = 0;
    for (int axis = 0; axis < op->ranks[operand]; axis++) {
        used += (size_t)snprintf(
            ret_text + used, size - used, "%s%d", axis == 0 ? "" : ",", op->dims[operand][axis]);
    }
}

static void
write_shape(const Case *op, char *ret_text, size_t size)
{
    char dims[2][NAME_SIZE] = {"", ""};
    for (int operand = 0; operand < operand_count(op); operand++) {
        write_dims(op, operand, dims[operand], sizeof dims[operand]);
    }
    (void)snprintf(ret_text, size, "%s%s%s", dims[0], operand_count(op) == 2 ? " x " : "", dims[1]);
}

static double
operand_bytes(const Case *op, Dtype dtype)
{
    double bytes = 0;
    for (int operand = 0; operand < operand_count(op); operand++) {
        double elements = 1;
        for (int axis = 0; axis < op->ranks[operand]; axis++) {
            elements *= op->dims[operand][axis];
        }
        bytes += elements * (double)dtype_size(dtype);
    }
    return bytes;
}

static void
operand_name(int operand, int copy, char ret_name[NAME_SIZE])
{
    (void)snprintf(ret_name, NAME_SIZE, "%c%d", 'a' + operand, copy);
}

/* Appends the op with these operands. */
static void
write_op(Buffer *text, const Case *op, char (*names)[NAME_SIZE], const char *dtype)
{
    for (const char *at = op->text; *at != '\0'; at++) {
        if (at[0] == '@') {
            at++;
            buffer_append_string(text, *at == 't' ? dtype : names[*at - 'a']);
        } else {
            buffer_append(text, at, 1);
        }
    }
    buffer_append_string(text, "\n");
}

/* Assigns `copies` variables an operand, with the same numbers. */
static void
set_operands(BenchWorker *worker, const Case *op, const char *dtype, int copies)
{
    Network network = {0};
    AUTO_BUFFER controls = {0};
    char name[NAME_SIZE];
    char dims[NAME_SIZE];
    for (int operand = 0; operand < operand_count(op); operand++) {
        write_dims(op, operand, dims, sizeof dims);
        for (int copy = 0; copy < copies; copy++) {
            operand_name(operand, copy, name);
            network_set_variable(&network, name, dtype, dims, 1);
            buffer_append_format(&controls, "%s^%s_set", controls.size == 0 ? "" : ", ", name);
        }
    }
    buffer_append_format(&network.set, "set = NoOp(%s)\n", buffer_string(&controls));
    BenchGraph graph = bench_worker_load(worker, buffer_string(&network.set), NULL, NULL, "set");
    (void)bench_worker_run(worker, &graph, NULL, NULL);
    network_done(&network);
}

/* Loads a graph with the op `count` times; "all" waits for them, r is the output of the first as float32. */
static BenchGraph
load_op(BenchWorker *worker, const Case *op, const char *dtype, int copies, int count, const char *fetch)
{
    Network network = {0};
    AUTO_BUFFER controls = {0};
    char names[2][NAME_SIZE];
    buffer_append_string(&network.run, op->before == NULL ? "" : op->before);
    for (int copy = 0; copy < copies && copy < count; copy++) {
        for (int operand = 0; operand < operand_count(op); operand++) {
            operand_name(operand, copy, names[operand]);
            network_read_variable(&network, names[operand], dtype);
        }
    }
    for (int index = 0; index < count; index++) {
        operand_name(0, index % copies, names[0]);
        operand_name(1, index % copies, names[1]);
        buffer_append_format(&network.run, "o%d = ", index);
        write_op(&network.run, op, names, dtype);
        buffer_append_format(&controls, "%s^o%d", index == 0 ? "" : ", ", index);
    }
    buffer_append_format(&network.run, "all = NoOp(%s)\n", buffer_string(&controls));
    buffer_append_format(&network.run, "r = Cast(o0) SrcT=%s DstT=float32\n", dtype);
    BenchGraph graph = bench_worker_load(worker, buffer_string(&network.run), NULL, fetch, "all");
    network_done(&network);
    return graph;
}

/* Returns the median microseconds of a step. */
static Series
time_steps(BenchWorker *worker, const BenchGraph *graph, int rounds)
{
    Series series = {0};
    for (int round = -WARM_ROUNDS; round < rounds; round++) {
        double time = bench_worker_run(worker, graph, NULL, NULL);
        if (round >= 0) {
            series_add(&series, time);
        }
    }
    return series;
}

static void
print_time(const char *name, const char *dtype, const char *shape, const char *system, const double *times,
    double error)
{
    (void)printf("%stime\t%s\t%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t", mark, name, dtype, shape, system, times[0],
        times[1], times[2]);
    if (error >= 0) {
        (void)printf("%.2g", error);
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

static void
spread(const Series *series, double ret_times[3])
{
    ret_times[0] = series_median(series);
    ret_times[1] = INFINITY;
    ret_times[2] = 0;
    for (size_t index = 0; index < series->count; index++) {
        ret_times[1] = fmin(ret_times[1], series->values[index]);
        ret_times[2] = fmax(ret_times[2], series->values[index]);
    }
}

/* Returns the length of the difference as a share of the length of what is expected. */
static double
distance_of(const Tensor *actual, const Tensor *expected)
{
    double difference = 0;
    double length = 0;
    bench_must(actual->dtype == DTYPE_FLOAT32 && shape_equal(&actual->shape, &expected->shape),
        "card and CPU answer other shapes");
    for (int64_t index = 0; index < tensor_element_count(expected); index++) {
        double value = (double)((const float *)expected->data)[index];
        double by = (double)((const float *)actual->data)[index] - value;
        difference += by * by;
        length += value * value;
    }
    bench_must(isfinite(difference), "the card answers numbers that are not finite");
    return length > 0 ? sqrt(difference / length) : sqrt(difference);
}

/* Returns the distance of what both workers answer. */
static double
compare(Bench *bench, const BenchGraph *card_graph, const BenchGraph *host_graph)
{
    AUTO_TENSOR actual = {0};
    AUTO_TENSOR expected = {0};
    (void)bench_worker_run(&bench->card, card_graph, NULL, &actual);
    (void)bench_worker_run(&bench->host, host_graph, NULL, &expected);
    return distance_of(&actual, &expected);
}

static double
op_error(Bench *bench, const Case *op, const char *dtype)
{
    static const double elements_max = 1 << 24;
    /* The CPU has no fast kernels for 16 bits. */
    double operations_max = strcmp(dtype, "float32") == 0 ? 2e10 : 1e9;
    if (op->output_elements > elements_max || op->operations > operations_max) {
        return -1;
    }
    set_operands(&bench->host, op, dtype, 1);
    BenchGraph card = load_op(&bench->card, op, dtype, 1, 1, "r");
    BenchGraph host = load_op(&bench->host, op, dtype, 1, 1, "r");
    return compare(bench, &card, &host);
}

/* Prints the time of one op: what a step takes longer for each one more. */
static void
measure_op(Bench *bench, const Case *op, const char *dtype_text)
{
    static const double much = 1e11; /* operations, of which a few say enough */
    Dtype dtype = dtype_from_name(slice_from_string(dtype_text));
    double bytes = operand_bytes(op, dtype);
    int copies = bench->is_tiny ? 2 : (int)fmin(BENCH_COPIES_MAX, ceil(BENCH_CACHE_BYTES / bytes));
    int together = op->together == 0 ? 1 : op->together;
    int more = op->together > 0 ? op->together : bench->is_tiny ? 2 : op->operations > much ? 4 : 32;
    int rounds = bench->is_tiny ? 3 : op->operations > much ? ROUNDS / 2 : ROUNDS;
    char shape[2 * NAME_SIZE];
    double times[2][3];
    write_shape(op, shape, sizeof shape);
    if (!is_wanted(op->name, dtype_text, shape)) {
        return;
    }
    begin_case(bench);
    set_operands(&bench->card, op, dtype_text, copies);
    for (int number = 0; number < 2; number++) {
        BenchGraph graph = load_op(&bench->card, op, dtype_text, copies, 1 + number * more, NULL);
        Series series = time_steps(&bench->card, &graph, rounds);
        spread(&series, times[number]);
    }
    for (int number = 0; number < 3; number++) {
        times[1][number] = fmax(0, times[1][number] - times[0][0]) / more * together;
    }
    (void)printf("%swork\t%s\t%s\t%s\t%.0f\t%.0f\n", mark, op->name, dtype_text, shape,
        bytes + op->output_elements * (double)dtype_size(dtype), op->operations);
    print_time(op->name, dtype_text, shape, bench->system, times[1], op_error(bench, op, dtype_text));
}

static const char *const dtypes[] = {"float32", "float16", "bfloat16"};

static void
measure_products(Bench *bench)
{
    for (int side = bench->is_tiny ? 4 : PRODUCT_SIDE_MIN; side <= (bench->is_tiny ? 8 : PRODUCT_SIDE_MAX);
         side *= 2) {
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
            Case op = {.name = "product",
                .text = "MatMul(@a, @b) T=@t",
                .ranks = {2, 2},
                .dims = {{side, side}, {side, side}},
                .output_elements = (double)side * side,
                .operations = 2.0 * side * side * side};
            measure_op(bench, &op, dtypes[dtype]);
        }
    }
}

/* Products with an activation, which cuBLASLt fuses where its activation is Sluice's. */
static void
measure_activated_products(Bench *bench)
{
    static const struct {
        const char *name;
        const char *text;
    } rows[] = {
        {"product and ReLU", "_FusedMatMul(@a, @b) T=@t num_args=0 fused_ops=['Relu']"},
        {"product and GELU by tanh", "_FusedMatMul(@a, @b) T=@t num_args=0 fused_ops=['GeluApproximate']"},
    };
    int side = bench->is_tiny ? 4 : ACTIVATED_SIDE;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
            Case op = {.name = rows[row].name,
                .text = rows[row].text,
                .ranks = {2, 2},
                .dims = {{side, side}, {side, side}},
                .output_elements = (double)side * side,
                .operations = 2.0 * side * side * side};
            measure_op(bench, &op, dtypes[dtype]);
        }
    }
}

/* Attention of an encoder, which cuDNN computes in 16 bits. */
static void
measure_attention(Bench *bench)
{
    int batch = bench->is_tiny ? 1 : ATTENTION_BATCH;
    int heads = bench->is_tiny ? 2 : ATTENTION_HEADS;
    int positions = bench->is_tiny ? 3 : ATTENTION_POSITIONS;
    int size = bench->is_tiny ? 8 : ATTENTION_SIZE;
    double elements = (double)batch * heads * positions * size;
    Case op = {.name = "attention",
        .text = "_FusedAttention(@a, @b, @b) T=@t num_args=0 num_masks=0 fused_ops=[] transpose_key=true",
        .ranks = {4, 4},
        .dims = {{batch, heads, positions, size}, {batch, heads, positions, size}},
        .output_elements = elements,
        .operations = 4 * elements * positions};
    for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
        measure_op(bench, &op, dtypes[dtype]);
    }
}

static void
measure_convolutions(Bench *bench)
{
    for (size_t index = 0; index < (bench->is_tiny ? 1 : COUNT_OF(bench_convolutions)); index++) {
        BenchConvolution c = bench->is_tiny ? (BenchConvolution){2, 2, 6, 3, 1} : bench_convolutions[index];
        int batch = bench->is_tiny ? 1 : CONVOLUTION_BATCH;
        int out = c.image / c.stride;
        char text[256];
        (void)snprintf(text, sizeof text,
            "onnx::Conv(@a, @b) T=@t kernel_shape=[%d,%d] pads=[%d,%d,%d,%d] strides=[%d,%d]", c.side, c.side,
            c.side / 2, c.side / 2, c.side / 2, c.side / 2, c.stride, c.stride);
        Case op = {.name = "convolution",
            .text = text,
            .ranks = {4, 4},
            .dims = {{batch, c.from, c.image, c.image}, {c.to, c.from, c.side, c.side}},
            .output_elements = (double)batch * c.to * out * out};
        op.operations = 2 * op.output_elements * c.from * c.side * c.side;
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
            measure_op(bench, &op, dtypes[dtype]);
        }
    }
}

#define AXIS(number) "axis = Const() dtype=int32 value=int32(" number ")\n"
#define ROWS 32768
#define COLUMNS 1024
#define WHOLE ((double)ROWS * COLUMNS)

static const Case memory_ops[] = {
    {"Relu", "Relu(@a) T=@t", NULL, {2}, {{ROWS, COLUMNS}}, WHOLE, 0, 0},
    {"Exp", "Exp(@a) T=@t", NULL, {2}, {{ROWS, COLUMNS}}, WHOLE, 0, 0},
    {"AddV2", "AddV2(@a, @b) T=@t", NULL, {2, 2}, {{ROWS, COLUMNS}, {ROWS, COLUMNS}}, WHOLE, 0, 0},
    {"AddV2 of a row", "AddV2(@a, @b) T=@t", NULL, {2, 1}, {{ROWS, COLUMNS}, {COLUMNS}}, WHOLE, 0, 0},
    {"Softmax", "Softmax(@a) T=@t", NULL, {2}, {{ROWS, COLUMNS}}, WHOLE, 0, 0},
    {"LayerNormalization", "onnx::LayerNormalization(@a, @b) T=@t", NULL, {2, 1},
        {{ROWS, COLUMNS}, {COLUMNS}}, WHOLE, 0, 0},
    {"Sum of rows", "Sum(@a, axis) T=@t Tidx=int32", AXIS("1"), {2}, {{ROWS, COLUMNS}}, ROWS, 0, 0},
    {"Sum of columns", "Sum(@a, axis) T=@t Tidx=int32", AXIS("0"), {2}, {{ROWS, COLUMNS}}, COLUMNS, 0, 0},
    {"Transpose", "Transpose(@a, axis) T=@t Tperm=int32", "axis = Const() dtype=int32 value=int32<2>(1;0)\n",
        {2}, {{ROWS, COLUMNS}}, WHOLE, 0, 0},
};

static void
measure_memory(Bench *bench)
{
    for (size_t index = 0; index < COUNT_OF(memory_ops); index++) {
        Case op = memory_ops[index];
        if (bench->is_tiny) {
            op.dims[0][0] = 8;
            op.dims[0][1] = 16;
            op.dims[1][0] = op.ranks[1] == 1 ? 16 : 8;
            op.dims[1][1] = 16;
            op.output_elements = 128;
        }
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
            measure_op(bench, &op, dtypes[dtype]);
        }
    }
}

/* Goes on with another worker, which is started with these arguments too. */
static void
restart_worker(Bench *bench, const char *const *more)
{
    const char *arguments[ARGUMENTS_MAX];
    size_t count = 0;
    for (const char *const *at = bench->arguments; *at != NULL; at++) {
        bench_must(count < ARGUMENTS_MAX / 2, "too many arguments");
        arguments[count++] = *at;
    }
    for (const char *const *at = more; *at != NULL; at++) {
        arguments[count++] = *at;
    }
    arguments[count] = NULL;
    bench_worker_stop(&bench->card);
    bench_worker_start(&bench->card, arguments);
}

/* Tells what a trace says of a step with `count` such nodes, which has run a few times before. */
static void
tell_trace(Bench *bench, const Case *op, int count)
{
    enum { STEPS_BEFORE = 4 };
    begin_case(bench);
    set_operands(&bench->card, op, "float32", 1);
    BenchGraph graph = load_op(&bench->card, op, "float32", 1, count, NULL);
    for (int step = 0; step < STEPS_BEFORE; step++) {
        (void)bench_worker_run(&bench->card, &graph, NULL, NULL);
    }
    BenchTrace trace = bench_worker_trace(&bench->card, &graph);
    (void)printf("%sfact\ttrace of %s, %s\t%zu activities, %zu of them captured, %llu lost, by %s\n", mark,
        op->name, bench->system, trace.activity_count, trace.captured_count,
        (unsigned long long)trace.left_out_count, trace.source[0] == '\0' ? "nobody" : trace.source);
}

/* What the host does for a small node, with which the card is done sooner than the host; and for a hundred,
 * which a card replays at once, beside a worker that launches each. */
static void
measure_launches(Bench *bench)
{
    Case op = {.name = "node of 4 numbers",
        .text = "Relu(@a) T=@t",
        .ranks = {1},
        .dims = {{4}},
        .output_elements = 4};
    measure_op(bench, &op, "float32");
    op.name = "100 nodes of 4 numbers";
    op.together = 100;
    measure_op(bench, &op, "float32");
    tell_trace(bench, &op, op.together);
    restart_worker(bench, (const char *const[]){"--cuda-graphs", "0", NULL});
    bench->system = "Sluice, plain launches";
    measure_op(bench, &op, "float32");
    tell_trace(bench, &op, op.together);
    restart_worker(bench, (const char *const[]){NULL});
    bench->system = "Sluice";
}

static void
measure_ops(Bench *bench)
{
    measure_launches(bench);
    measure_memory(bench);
    measure_products(bench);
    measure_activated_products(bench);
    measure_attention(bench);
    measure_convolutions(bench);
}

typedef struct Model {
    const char *name;
    Network (*make)(const NetworkSize *size);
    bool is_trained; /* steps change the variables: they are assigned anew before they are compared */
} Model;

static const Model models[] = {
    {"ResNet-50", network_resnet50, false},
    {"BERT-base", network_bert, false},
    {"training of 4 layers", network_training, true},
};

/* Assigns a network's variables and loads it: answers come as float32. */
static BenchGraph
load_network(BenchWorker *worker, Network *network, const char *dtype, const char *targets)
{
    AUTO_BUFFER text = {0};
    BenchGraph set = bench_worker_load(worker, buffer_string(&network->set), NULL, NULL, "set");
    (void)bench_worker_run(worker, &set, NULL, NULL);
    buffer_append(&text, buffer_slice(&network->run).data, network->run.size);
    buffer_append_format(&text, "answer = Cast(r) SrcT=%s DstT=float32\n", dtype);
    return bench_worker_load(worker, buffer_string(&text), NULL, "answer", targets);
}

/* The CPU has no fast kernels for 16 bits. */
static bool
is_soon_computed_by_cpu(const Bench *bench, const NetworkSize *size)
{
    return bench->is_tiny || strcmp(size->dtype, "float32") == 0;
}

static double
network_error(
    Bench *bench, Network *network, const NetworkSize *size, const char *targets, const BenchGraph *card)
{
    BenchGraph host = load_network(&bench->host, network, size->dtype, targets);
    return compare(bench, card, &host);
}

static void
measure_model(Bench *bench, const Model *model, const NetworkSize *size)
{
    char shape[NAME_SIZE];
    (void)snprintf(shape, sizeof shape, "batch %d", size->batch);
    if (!is_wanted(model->name, size->dtype, shape)) {
        return;
    }
    begin_case(bench);
    Network network = model->make(size);
    const char *targets = model->is_trained ? "trained" : NULL;
    double times[3];
    BenchGraph card = load_network(&bench->card, &network, size->dtype, targets);
    double error =
        is_soon_computed_by_cpu(bench, size) ? network_error(bench, &network, size, targets, &card) : -1;
    double copies = bench_worker_metric(&bench->card, "sluice_worker_device_copies_total");
    Series series = time_steps(&bench->card, &card, bench->is_tiny ? 2 : ROUNDS);
    copies = bench_worker_metric(&bench->card, "sluice_worker_device_copies_total") - copies;
    spread(&series, times);
    print_time(model->name, size->dtype, shape, "Sluice", times, error);
    (void)printf("%sfact\t%s, %s, %s\t%.3g copies a step between card and host\n", mark, model->name,
        size->dtype, shape, copies / (double)(series.count + WARM_ROUNDS));
    network_done(&network);
}

static void
measure_models(Bench *bench)
{
    static const int batches[] = {1, 32};
    for (size_t index = 0; index < COUNT_OF(models); index++) {
        for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype += 2) {
            for (size_t batch = 0; batch < COUNT_OF(batches); batch++) {
                NetworkSize size = {.dtype = dtypes[dtype],
                    .batch = bench->is_tiny ? 1 + (int)batch : batches[batch],
                    .is_tiny = bench->is_tiny};
                if (!models[index].is_trained) {
                    measure_model(bench, &models[index], &size);
                }
            }
        }
        if (models[index].is_trained) {
            NetworkSize size = {
                .dtype = "float32", .batch = bench->is_tiny ? 4 : 256, .is_tiny = bench->is_tiny};
            measure_model(bench, &models[index], &size);
        }
    }
}

static int
compare_times(const void *left, const void *right)
{
    uint64_t l = *(const uint64_t *)left;
    uint64_t r = *(const uint64_t *)right;
    return (l > r) - (l < r);
}

/* Times small steps, of which so many are under way at a time, on one of the workers. */
static void
measure_in_flight(BenchWorker *worker, const char *system, const Tensor *feed, int in_flight, int count)
{
    static const char graph_text[] = "x = Placeholder() dtype=float32 shape=<>\n"
                                     "w = Const() dtype=float32 value=float32<64,64>(~0.1)\n"
                                     "p = MatMul(x, w) T=float32\ny = Relu(p) T=float32\n"
                                     "axis = Const() dtype=int32 value=int32<2>(0;1)\n"
                                     "r = Sum(y, axis) T=float32 Tidx=int32\n";
    static uint64_t times_ns[SMALL_STEPS];
    char name[NAME_SIZE];
    char shape[NAME_SIZE];
    BenchGraph graph = bench_worker_load(worker, graph_text, "x", "r", NULL);
    (void)bench_worker_run_many(worker, &graph, feed, in_flight, in_flight, times_ns);
    double all = bench_worker_run_many(worker, &graph, feed, in_flight, count, times_ns);
    qsort(times_ns, (size_t)count, sizeof *times_ns, compare_times);
    double times[3] = {(double)times_ns[count / 2] / CLOCK_NS_PER_US, (double)times_ns[0] / CLOCK_NS_PER_US,
        (double)times_ns[count - 1 - count / 100] / CLOCK_NS_PER_US};
    (void)snprintf(name, sizeof name, "step, %d under way", in_flight);
    (void)snprintf(shape, sizeof shape, "%lld,64", (long long)feed->shape.dims[0]);
    print_time(name, "float32", shape, system, times, -1);
    (void)printf("%sfact\t%s, %s, %s\t%.0f steps/s, p50 %.0f us, p99 %.0f us\n", mark, name, shape, system,
        count / all * 1e6, times[0], times[2]);
}

/* A step that is all request and answer, and one that has some work; on the card, and beside it without. */
static void
measure_steps(Bench *bench)
{
    static const int in_flight[] = {1, 8, 64};
    static const int rows[] = {1, 1024};
    for (size_t size = 0; size < COUNT_OF(rows); size++) {
        AUTO_TENSOR feed = {0};
        Shape shape = {.rank = 2, .dims = {bench->is_tiny ? 1 + (int)size : rows[size], 64}};
        bench_must(tensor_new(DTYPE_FLOAT32, &shape, &feed), "no memory");
        memset(feed.data, 0, tensor_byte_size(&feed));
        for (size_t index = 0; index < COUNT_OF(in_flight); index++) {
            int count = bench->is_tiny ? in_flight[index] + 2 : SMALL_STEPS;
            measure_in_flight(&bench->card, "Sluice", &feed, in_flight[index], count);
            measure_in_flight(&bench->host, "Sluice on the CPU", &feed, in_flight[index], count);
        }
    }
}

/* Times a step that sends a tensor to the card, or one that brings it back. */
static void
measure_transfer(Bench *bench, const char *name, const BenchGraph *graph, const Tensor *feed, int64_t count)
{
    Series series = {0};
    char shape[NAME_SIZE];
    double times[3];
    for (int round = -WARM_ROUNDS; round < (bench->is_tiny ? 2 : ROUNDS); round++) {
        double time = bench_worker_run(&bench->card, graph, feed, NULL);
        if (round >= 0) {
            series_add(&series, time);
        }
    }
    spread(&series, times);
    (void)snprintf(shape, sizeof shape, "%lld", (long long)count);
    print_time(name, "float32", shape, "Sluice", times, -1);
}

static void
measure_transfers(Bench *bench)
{
    int64_t count = bench->is_tiny ? 64 : 1 << 24;
    Network network = {0};
    AUTO_TENSOR feed = {0};
    Shape shape = {.rank = 1, .dims = {count}};
    char dims[32];
    begin_case(bench);
    bench_must(tensor_new(DTYPE_FLOAT32, &shape, &feed), "no memory");
    memset(feed.data, 0, tensor_byte_size(&feed));
    BenchGraph upload = bench_worker_load(&bench->card,
        "x = Placeholder() dtype=float32 shape=<>\n" AXIS("0") "r = Sum(x, axis) T=float32 Tidx=int32\n", "x",
        "r", NULL);
    (void)snprintf(dims, sizeof dims, "%lld", (long long)count);
    network_set_variable(&network, "x", "float32", dims, 1);
    network_read_variable(&network, "x", "float32");
    buffer_append_string(&network.run, "r = Exp(x) T=float32\n");
    BenchGraph set = bench_worker_load(&bench->card, buffer_string(&network.set), NULL, NULL, "x_set");
    (void)bench_worker_run(&bench->card, &set, NULL, NULL);
    BenchGraph download = bench_worker_load(&bench->card, buffer_string(&network.run), NULL, "r", NULL);
    measure_transfer(bench, "step with a large feed", &upload, &feed, count);
    measure_transfer(bench, "step with a large fetch", &download, NULL, count);
    network_done(&network);
}

static void
measure_worker(Bench *bench)
{
    measure_steps(bench);
    measure_transfers(bench);
}

int
main(int argc, char **argv)
{
    static const char *const host_arguments[] = {"--cuda", "off", NULL};
    static const struct {
        const char *name;
        void (*measure)(Bench *bench);
    } steps[] = {{"ops", measure_ops}, {"models", measure_models}, {"worker", measure_worker}};
    static Bench bench;
    if (argc < 3 || (strcmp(argv[2], "real") != 0 && strcmp(argv[2], "tiny") != 0)) {
        (void)fprintf(stderr, "cuda_bench: ops, models or worker; real or tiny; the worker's arguments\n");
        return 2;
    }
    bench.is_tiny = strcmp(argv[2], "tiny") == 0;
    mark = bench.is_tiny ? "tiny " : "";
    bench.arguments = (const char *const *)&argv[3];
    bench.system = "Sluice";
    bench_worker_start(&bench.card, bench.arguments);
    bench_worker_start(&bench.host, host_arguments);
    for (size_t index = 0; index < COUNT_OF(steps); index++) {
        if (strcmp(argv[1], steps[index].name) == 0) {
            steps[index].measure(&bench);
        }
    }
    bench_worker_stop(&bench.card);
    bench_worker_stop(&bench.host);
    return EXIT_SUCCESS;
}
