/* Notes of a traced run: every node, every iteration, and where notes stop. */
#include "worker/runtime/run/trace.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/partition_runs.h"

/* A run that is still held, so that its trace exists. */
typedef struct Traced {
    RunOutcome outcome;
    Run *run;
    const Partition *partition;
} Traced;

static void
traced_begin(RunFixture *fixture, Partition *partition, Tensor *args, uint32_t arg_count, Traced *ret_traced)
{
    *ret_traced = (Traced){.partition = partition};
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = arg_count,
        .traces_nodes = true,
        .callbacks = outcome_callbacks(&ret_traced->outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, &ret_traced->run));
    outcome_wait(&ret_traced->outcome);
    assert_string_equal(ret_traced->outcome.message, "");
}

static void
traced_end(Traced *traced)
{
    run_unref(traced->run);
    outcome_clear(&traced->outcome);
}

/* Returns NULL when the iteration has no such node. */
static const NodeTrace *
node_find(const Traced *traced, const IterationTrace *record, const char *name)
{
    for (uint32_t cell = 0; cell < record->node_count; cell++) {
        PartitionNode node = partition_node(traced->partition, record->numbers[cell]);
        if (slice_equals_string(node.name, name)) {
            return &record->nodes[cell];
        }
    }
    return NULL;
}

static const NodeTrace *
root_node(const Traced *traced, const char *name)
{
    const NodeTrace *node = node_find(traced, traced->outcome.stats.trace->root, name);
    assert_non_null(node);
    return node;
}

static Tensor
integer(RunFixture *fixture, int32_t value)
{
    TensorBuffer *buffer = fixture->device->allocate(fixture->device, sizeof value);
    assert_non_null(buffer);
    *(int32_t *)buffer->data = value;
    return (Tensor){.dtype = DTYPE_INT32, .shape = shape_scalar(), .data = buffer->data, .buffer = buffer};
}

static const char *const CHAIN = "x = _Arg() T=float32 index=0\n"
                                 "same = Identity(x) T=float32\n"
                                 "product = MatMul(x, x) T=float32\n"
                                 "minus = Neg(product) T=float32\n"
                                 "out = _Retval(minus) T=float32 index=0\n"
                                 "again = _Retval(same) T=float32 index=1\n";

static Tensor
square(RunFixture *fixture)
{
    static const float values[] = {1, 2, 3, 4};
    Shape shape = {.rank = 2, .dims = {2, 2}};
    return fixture_floats(fixture, &shape, values);
}

static void
times_of_nodes_follow_each_other(void **state)
{
    (void)state;
    RunFixture fixture;
    Traced traced;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    Tensor arg = square(&fixture);
    traced_begin(&fixture, partition, &arg, 1, &traced);
    const NodeTrace *product = root_node(&traced, "product");
    const NodeTrace *minus = root_node(&traced, "minus");
    assert_true(product->scheduled_ns > 0);
    assert_true(product->start_ns >= product->scheduled_ns);
    assert_true(product->end_ns >= product->start_ns);
    assert_true(minus->start_ns >= product->end_ns);
    assert_true(product->thread > 0);
    traced_end(&traced);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Neg computes into MatMul's tensor, and Identity hands its feed on: neither takes memory. */
static void
memory_is_told_of_the_node_that_took_it(void **state)
{
    (void)state;
    RunFixture fixture;
    Traced traced;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    Tensor arg = square(&fixture);
    uint64_t before = fixture_memory_in_use(&fixture);
    traced_begin(&fixture, partition, &arg, 1, &traced);
    assert_int_equal(root_node(&traced, "same")->output_bytes, 16);
    assert_int_equal(root_node(&traced, "same")->allocated_bytes, 0);
    assert_int_equal(root_node(&traced, "product")->output_bytes, 16);
    assert_int_equal(root_node(&traced, "product")->allocated_bytes, 16);
    assert_int_equal(root_node(&traced, "minus")->output_bytes, 16);
    assert_int_equal(root_node(&traced, "minus")->allocated_bytes, 0);
    assert_true(root_node(&traced, "product")->device_bytes > before);
    traced_end(&traced);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

#define FEEDS                                                                                                \
    "n = _Arg() T=int32 index=0\nx = _Arg() T=float32 index=1\nzero = Const() dtype=int32 value=int32(0)\n"

static const char *const ADDING = FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "")
    LOOP_VARIABLE("v", "i", "loop", "x", "") "v_new = Add(v_body, v_body) T=float32\n"
                                             "out = _Retval(v_exit) T=float32 index=0\n";

static const char *const NESTED =
    FEEDS LOOP_COUNTER("i", "outer", "zero", "n", "") LOOP_VARIABLE("v", "i", "outer", "x", "")
        LOOP_COUNTER("j", "inner", "i_body", "n_inside", "") "n_inside = Enter(n) T=int32 is_constant=true "
                                                             "frame_name='outer'\n"
                                                             "v_new = Identity(v_body, ^j_exit) T=float32\n"
                                                             "out = _Retval(v_exit) T=float32 index=0\n";

static void
loop_begin(RunFixture *fixture, Partition *partition, int32_t turns, Traced *ret_traced)
{
    Tensor args[] = {integer(fixture, turns), fixture_vector(fixture, 4, 1)};
    traced_begin(fixture, partition, args, 2, ret_traced);
}

/* The last iteration finds that the loop has ended: its body is dead. */
static void
every_iteration_of_a_loop_is_told(void **state)
{
    (void)state;
    enum { TURNS = 20 };
    RunFixture fixture;
    Traced traced;
    bool is_seen[TURNS + 1] = {false};
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, ADDING);
    loop_begin(&fixture, partition, TURNS, &traced);
    const RunTrace *trace = traced.outcome.stats.trace;
    assert_int_equal(trace->count, 1 + TURNS + 1);
    assert_int_equal(trace->left_out_count, 0);
    for (const IterationTrace *at = trace->root->next; at != NULL; at = at->next) {
        assert_ptr_equal(at->around, trace->root);
        assert_true(slice_equals_string(partition_frame_name(partition, at->frame), "loop"));
        assert_true(at->number <= TURNS && !is_seen[at->number]);
        is_seen[at->number] = true;
        assert_true(node_find(&traced, at, "v_merge")->end_ns > 0);
        assert_int_equal(node_find(&traced, at, "v_new")->end_ns > 0, at->number < TURNS);
    }
    traced_end(&traced);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static const char *const CALLING =
    "function neg() -> ()\n"
    "x = _Arg() T=float32 index=0\n"
    "inside = Neg(x) T=float32\n"
    "out = _Retval(inside) T=float32 index=0\n"
    "end\n"
    "function calls_neg() -> ()\n"
    "x = _Arg() T=float32 index=0\n"
    "index = Const() dtype=int32 value=int32(0)\n"
    "deeper = _Branch(index, x) Tindex=int32 Tin=[float32] Tout=[float32] branches=[@neg]\n"
    "out = _Retval(deeper) T=float32 index=0\n"
    "end\n" FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "")
        LOOP_VARIABLE("v", "i", "loop", "x", "") "v_new = _Branch(i_body, v_body) Tindex=int32 Tin=[float32] "
                                                 "Tout=[float32] branches=[@neg,@calls_neg]\n"
                                                 "out = _Retval(v_exit) T=float32 index=0\n";

/* The first turn calls a function, each other one a function that calls it. */
static void
functions_are_told_of_the_iteration_that_called_them(void **state)
{
    (void)state;
    enum { TURNS = 3 };
    RunFixture fixture;
    Traced traced;
    bool is_seen[TURNS] = {false};
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, CALLING);
    loop_begin(&fixture, partition, TURNS, &traced);
    const RunTrace *trace = traced.outcome.stats.trace;
    assert_int_equal(trace->lost_call_count, 0);
    for (const CallTrace *call = trace->calls; call != NULL; call = call->next) {
        uint64_t turn = call->around->number;
        assert_true(turn < TURNS && !is_seen[turn]);
        is_seen[turn] = true;
        const CallTrace *deeper = call->trace->calls;
        assert_int_equal(deeper != NULL, turn > 0);
        const CallTrace *neg = deeper != NULL ? deeper : call;
        Traced inside = {.partition = neg->function};
        const NodeTrace *node = node_find(&inside, neg->trace->root, "inside");
        assert_non_null(node);
        assert_true(node->end_ns > node_find(&traced, call->around, "v_new")->start_ns);
        assert_true(node->end_ns <= node_find(&traced, call->around, "v_new")->end_ns);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        assert_true(is_seen[turn]);
    }
    traced_end(&traced);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* for i in 0…n: for j in i…n */
static void
iterations_of_a_loop_in_a_loop_know_what_is_around(void **state)
{
    (void)state;
    enum { TURNS = 4 };
    RunFixture fixture;
    Traced traced;
    int inner_count[TURNS] = {0};
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, NESTED);
    loop_begin(&fixture, partition, TURNS, &traced);
    for (const IterationTrace *at = traced.outcome.stats.trace->root->next; at != NULL; at = at->next) {
        if (slice_equals_string(partition_frame_name(partition, at->frame), "inner") &&
            node_find(&traced, at, "j_body")->end_ns > 0) {
            assert_true(slice_equals_string(partition_frame_name(partition, at->around->frame), "outer"));
            inner_count[at->around->number]++;
        }
    }
    for (int turn = 0; turn < TURNS; turn++) {
        assert_int_equal(inner_count[turn], TURNS - turn);
    }
    traced_end(&traced);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
iterations_past_the_limit_are_counted(void **state)
{
    (void)state;
    enum { TURNS = 20000 };
    RunFixture fixture;
    Traced traced;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, ADDING);
    loop_begin(&fixture, partition, TURNS, &traced);
    const RunTrace *trace = traced.outcome.stats.trace;
    assert_true(trace->left_out_count > 0);
    assert_int_equal(trace->count - 1 + trace->left_out_count, TURNS + 1);
    assert_true(trace->loop_bytes <= TRACE_LOOP_BYTES_MAX);
    assert_true(trace->last->number + 1 + trace->left_out_count == TURNS + 1);
    traced_end(&traced);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_run_that_nobody_traces_notes_nothing_after_one_that_was(void **state)
{
    (void)state;
    RunFixture fixture;
    Traced traced;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, ADDING);
    loop_begin(&fixture, partition, 3, &traced);
    traced_end(&traced);
    RunOutcome outcome = {0};
    Tensor args[] = {integer(&fixture, 3), fixture_vector(&fixture, 4, 1)};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    assert_null(outcome.stats.trace);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_nodes_follow_each_other),
        cmocka_unit_test(memory_is_told_of_the_node_that_took_it),
        cmocka_unit_test(every_iteration_of_a_loop_is_told),
        cmocka_unit_test(functions_are_told_of_the_iteration_that_called_them),
        cmocka_unit_test(iterations_of_a_loop_in_a_loop_know_what_is_around),
        cmocka_unit_test(iterations_past_the_limit_are_counted),
        cmocka_unit_test(a_run_that_nobody_traces_notes_nothing_after_one_that_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
