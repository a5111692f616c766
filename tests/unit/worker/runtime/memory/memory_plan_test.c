#include "tests/support/cmocka_all.h"

#include "shared/base/buffer.h"
#include "tests/support/partition_runs.h"

enum { SIZE = 4096, NODES = 60 };

static uint32_t
random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % limit;
}

typedef struct RandomOp {
    const char *op;
    int input_count;
} RandomOp;

static const RandomOp OPS[] = {
    {"Neg", 1}, {"Identity", 1}, {"Relu", 1}, {"Add", 2}, {"Sub", 2}, {"Maximum", 2}, {"Square", 1}};

static float
evaluate(const char *op, float a, float b)
{
    switch (op[0]) {
    case 'N':
        return -a;
    case 'R':
        return a > 0 ? a : 0;
    case 'A':
        return a + b;
    case 'M':
        return a > b ? a : b;
    case 'S':
        return op[1] == 'u' ? a - b : a * a;
    default:
        return a;
    }
}

/* Writes a random graph of element-wise nodes near each other: chains, diamonds and wide stretches. All
 * elements of a tensor are equal. */
static void
write_graph(uint64_t seed, Buffer *text, float *ret_values)
{
    uint64_t random = seed;
    buffer_append_string(text, "n0 = _Arg() T=float32 index=0\n");
    ret_values[0] = 3;
    for (uint32_t node = 1; node < NODES; node++) {
        const RandomOp *op = &OPS[random_below(&random, COUNT_OF(OPS))];
        uint32_t near = node < 8 ? node : 8;
        uint32_t a = node - 1 - random_below(&random, near);
        uint32_t b = node - 1 - random_below(&random, near);
        bool is_large = ret_values[a] > 1e6f || ret_values[a] < -1e6f;
        const char *name = is_large && op->op[1] == 'q' ? "Neg" : op->op;
        ret_values[node] = evaluate(name, ret_values[a], ret_values[b]);
        buffer_append_format(text, "n%u = %s(n%u", node, name, a);
        if (op->input_count == 2) {
            buffer_append_format(text, ", n%u", b);
        }
        buffer_append_string(text, ") T=float32\n");
    }
    buffer_append_format(text, "o0 = _Retval(n%d) T=float32 index=0\n", NODES - 1);
    buffer_append_format(text, "o1 = _Retval(n%d) T=float32 index=1\n", NODES / 2);
}

static void
assert_as_planned(const RunStats *stats)
{
    assert_true(stats->is_plan_exact);
    assert_int_equal(stats->peak_bytes, stats->planned_bytes);
}

static void
run_random_graph(RunFixture *fixture, uint64_t seed)
{
    AUTO_BUFFER text = {0};
    float values[NODES];
    write_graph(seed, &text, values);
    /* The nodes must not be fused: they would be a few. */
    AUTO_PARTITION partition = fixture_compile_without(fixture, buffer_string(&text), "elementwise_fusion");
    for (int round = 0; round < 3; round++) {
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(fixture, SIZE, 3);
        fixture_run(fixture, partition, NULL, &arg, 1, &outcome);
        assert_int_equal(outcome.code, STATUS_OK);
        for (int64_t i = 0; i < SIZE; i += 511) {
            assert_float_equal(tensor_float(&outcome.outputs[0], i), values[NODES - 1], 0);
            assert_float_equal(tensor_float(&outcome.outputs[1], i), values[NODES / 2], 0);
        }
        assert_as_planned(&outcome.stats);
        outcome_clear(&outcome);
        assert_int_equal(fixture_memory_in_use(fixture), 0);
    }
}

static void
random_graphs_take_what_is_planned(int thread_count)
{
    RunFixture fixture;
    fixture_begin(&fixture, thread_count);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        run_random_graph(&fixture, seed);
    }
    fixture_end(&fixture);
}

static void
random_graphs_take_what_is_planned_on_one_thread(void **state)
{
    (void)state;
    random_graphs_take_what_is_planned(1);
}

static void
random_graphs_take_what_is_planned_on_four_threads(void **state)
{
    (void)state;
    random_graphs_take_what_is_planned(4);
}

/* Attention over 128 positions with 64 channels, and a layer behind it, with connections that skip both. */
static const char *const ATTENTION = "x = _Arg() T=float32 index=0\n"
                                     "w = Const() dtype=float32 value=float32<64,64>(0.01)\n"
                                     "q = MatMul(x, w) T=float32\n"
                                     "k = MatMul(x, w) T=float32\n"
                                     "v = MatMul(x, w) T=float32\n"
                                     "scores = MatMul(q, k) T=float32 transpose_b=true\n"
                                     "weights = Softmax(scores) T=float32\n"
                                     "mixed = MatMul(weights, v) T=float32\n"
                                     "around = Add(x, mixed) T=float32\n"
                                     "hidden = MatMul(around, w) T=float32\n"
                                     "active = Relu(hidden) T=float32\n"
                                     "last = Add(around, active) T=float32\n"
                                     "out = _Retval(last) T=float32 index=0\n";

static Tensor
matrix(RunFixture *fixture, int64_t rows, int64_t columns)
{
    Tensor tensor = fixture_vector(fixture, rows * columns, 0.5f);
    tensor.shape = (Shape){.rank = 2, .dims = {rows, columns}};
    return tensor;
}

static void
run_attention(RunFixture *fixture, Partition *partition, int64_t rows)
{
    for (int round = 0; round < 3; round++) {
        RunOutcome outcome = {0};
        Tensor arg = matrix(fixture, rows, 64);
        fixture_run(fixture, partition, NULL, &arg, 1, &outcome);
        assert_int_equal(outcome.code, STATUS_OK);
        assert_as_planned(&outcome.stats);
        outcome_clear(&outcome);
    }
}

static void
attention_takes_what_is_planned_for_each_shape(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, ATTENTION);
    for (int64_t rows = 128; rows <= 512; rows += 128) {
        run_attention(&fixture, partition, rows);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

typedef struct ScratchCase {
    const char *graph; /* of arg x */
    Shape shape;
} ScratchCase;

static const ScratchCase SCRATCH_CASES[] = {
    /* The image is transposed, the filter packed once. */
    {"x = _Arg() T=float32 index=0\n"
     "w = Const() dtype=float32 value=float32<32,16,3,3>(0.01)\n"
     "y = onnx::Conv(x, w) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]\n"
     "out = _Retval(y) T=float32 index=0\n",
        {.rank = 4, .dims = {2, 16, 28, 28}}},
    /* The filter is computed, and so packed in each run. */
    {"x = _Arg() T=float32 index=0\n"
     "w = Const() dtype=float32 value=float32<3,3,16,96>(0.01)\n"
     "f = _Arg() T=float32 index=1\n"
     "v = Mul(w, f) T=float32\n"
     "y = Conv2D(x, v) T=float32 strides=[1,1,1,1] padding='SAME'\n"
     "out = _Retval(y) T=float32 index=0\n",
        {.rank = 4, .dims = {1, 12, 12, 16}}},
    {"x = _Arg() T=float32 index=0\n"
     "sizes = Const() dtype=int32 value=int32<4>(3;3;16;8)\n"
     "g = Const() dtype=float32 value=float32<4,20,20,8>(0.01)\n"
     "y = Conv2DBackpropFilter(x, sizes, g) T=float32 strides=[1,1,1,1] padding='SAME'\n"
     "out = _Retval(y) T=float32 index=0\n",
        {.rank = 4, .dims = {4, 20, 20, 16}}},
    {"x = _Arg() T=float32 index=0\n"
     "sizes = Const() dtype=int32 value=int32<4>(4;20;20;16)\n"
     "w = Const() dtype=float32 value=float32<3,3,16,8>(0.01)\n"
     "y = Conv2DBackpropInput(sizes, w, x) T=float32 strides=[1,1,1,1] padding='SAME'\n"
     "out = _Retval(y) T=float32 index=0\n",
        {.rank = 4, .dims = {4, 20, 20, 8}}},
    /* A product of odd sizes whose second matrix is computed. */
    {"x = _Arg() T=float32 index=0\n"
     "y = MatMul(x, x) T=float32 transpose_a=true\n"
     "out = _Retval(y) T=float32 index=0\n",
        {.rank = 2, .dims = {301, 299}}},
    {"x = _Arg() T=float32 index=0\n"
     "y = Einsum(x, x) T=float32 N=2 equation='ij,kj->ik'\n"
     "z = Softmax(y) T=float32\n"
     "out = _Retval(z) T=float32 index=0\n",
        {.rank = 2, .dims = {128, 64}}},
    {"x = _Arg() T=float32 index=0\n"
     "s = Svd(x) T=float32\n"
     "out = _Retval(s) T=float32 index=0\n",
        {.rank = 2, .dims = {96, 32}}},
};

static void
what_kernels_take_to_work_in_is_planned_for_the_first_run(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    for (size_t i = 0; i < COUNT_OF(SCRATCH_CASES); i++) {
        RunOutcome outcome = {0};
        AUTO_PARTITION partition = fixture_compile(&fixture, SCRATCH_CASES[i].graph);
        Tensor args[] = {fixture_numbers(&fixture, &SCRATCH_CASES[i].shape, 1),
            fixture_numbers(&fixture, &(Shape){.rank = 0}, 2)};
        uint32_t arg_count = partition_arg_count(partition);
        fixture_run(&fixture, partition, NULL, args, arg_count, &outcome);
        assert_int_equal(outcome.code, STATUS_OK);
        assert_as_planned(&outcome.stats);
        outcome_clear(&outcome);
        tensor_unref(&args[1]);
    }
    fixture_end(&fixture);
}

static void
memory_that_is_shared_changes_no_bit(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcomes[2] = {0};
    fixture_begin(&fixture, 2);
    for (int index = 0; index < 2; index++) {
        AUTO_PARTITION partition =
            fixture_compile_without(&fixture, ATTENTION, index == 0 ? NULL : "memory_plan");
        Tensor arg = matrix(&fixture, 128, 64);
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcomes[index]);
        assert_int_equal(outcomes[index].code, STATUS_OK);
    }
    assert_true(tensor_equal(&outcomes[0].outputs[0], &outcomes[1].outputs[0]));
    outcome_clear(&outcomes[0]);
    outcome_clear(&outcomes[1]);
    fixture_end(&fixture);
}

/* Scores and weights share 64 KiB; everything else takes 32 KiB. */
static void
a_step_past_its_limit_is_refused_and_the_next_one_runs(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, ATTENTION);
    RunOutcome outcome = {0};
    Tensor arg = matrix(&fixture, 128, 64);
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .memory_limit = 100 * 1000,
        .callbacks = outcome_callbacks(&outcome)};
    assert_int_equal(run_start(&fixture.call, &request, NULL), STATUS_RESOURCE_EXHAUSTED);
    const char *message = fixture.call.error.message;
    assert_non_null(strstr(message, "the step is planned to take "));
    assert_non_null(strstr(message, " bytes (32768 fed), the largest tensors 'scores' 65536, "));
    assert_non_null(strstr(message, "on this worker, but may take 100000"));
    assert_int_equal(outcome.done_count, 0);
    request.memory_limit = 1 << 20;
    assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    assert_true(outcome.stats.peak_bytes <= 1 << 20);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Room that others hold may become free; room beyond the device never will. */
static void
a_refusal_tells_whether_room_may_come(void **state)
{
    (void)state;
    CpuDeviceOptions options = {.thread_count = 1, .memory_limit = 4 << 20};
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    cpu_device_free(fixture.device);
    assert_status(&fixture.call, STATUS_OK, cpu_device_new(&fixture.call, &options, &fixture.device));
    AUTO_PARTITION partition = fixture_compile(&fixture, ATTENTION);
    TensorBuffer *const others[] = {
        fixture.device->allocate(fixture.device, 3 << 20), fixture.device->allocate(fixture.device, 3 << 18)};
    for (int rows = 256; rows <= 1024; rows *= 4) {
        bool is_crowded = rows == 1024;
        Tensor arg = matrix(&fixture, rows, 64);
        RunRequest request = {
            .partition = partition, .args = &arg, .arg_count = 1, .is_crowded = &is_crowded};
        assert_int_equal(run_start(&fixture.call, &request, NULL), STATUS_RESOURCE_EXHAUSTED);
        assert_int_equal(is_crowded, rows == 256);
        assert_non_null(strstr(fixture.call.error.message, " of the worker's 4194304 bytes are taken"));
        tensor_unref(&arg);
    }
    tensor_buffer_unref(others[0]);
    tensor_buffer_unref(others[1]);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* The number of rows is known at run time only. */
static void
what_was_not_planned_ends_at_the_limit_too(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "found = Where(x) T=float32\n"
                                                         "out = _Retval(found) T=int64 index=0\n");
    RunOutcome outcome = {0};
    Tensor arg = fixture_vector(&fixture, 100 * 1000, 1);
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .memory_limit = 600 * 1000,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(outcome.node, "found");
    assert_false(outcome.stats.is_plan_exact);
    assert_non_null(strstr(outcome.message, "needs 800000 bytes, but the step holds 0 of the 200000 bytes"));
    outcome_clear(&outcome);
    assert_int_equal(fixture_memory_in_use(&fixture), 0);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* The plan lets the first Neg write into its feed. */
static void
a_feed_that_somebody_else_holds_is_not_written(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                  "a = Neg(x) T=float32\n"
                                  "b = Identity(a) T=float32\n"
                                  "w = Const() dtype=float32 value=float32<128,128>(1)\n"
                                  "c = MatMul(b, w) T=float32\n"
                                  "d = MatMul(c, w) T=float32\n"
                                  "out = _Retval(d) T=float32 index=0\n");
    RunOutcome outcome = {0};
    Tensor arg = matrix(&fixture, 128, 128);
    AUTO_TENSOR held = tensor_ref(&arg);
    fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    assert_float_equal(tensor_float(&held, 0), 0.5f, 0);
    assert_float_equal(tensor_float(&outcome.outputs[0], 0), -0.5f * 128 * 128, 0);
    outcome_clear(&outcome);
    tensor_unref(&held);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_take_what_is_planned_on_one_thread),
        cmocka_unit_test(random_graphs_take_what_is_planned_on_four_threads),
        cmocka_unit_test(attention_takes_what_is_planned_for_each_shape),
        cmocka_unit_test(what_kernels_take_to_work_in_is_planned_for_the_first_run),
        cmocka_unit_test(memory_that_is_shared_changes_no_bit),
        cmocka_unit_test(a_step_past_its_limit_is_refused_and_the_next_one_runs),
        cmocka_unit_test(a_refusal_tells_whether_room_may_come),
        cmocka_unit_test(what_was_not_planned_ends_at_the_limit_too),
        cmocka_unit_test(a_feed_that_somebody_else_holds_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
