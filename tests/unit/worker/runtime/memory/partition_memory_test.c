/* Partitions of every kind are compiled and run again and again, each time with another allocation
 * failing: the failure is told or survived, nothing leaks, and runs that succeed give the right values. */
#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"
#include "tests/support/partition_runs.h"
#include "tests/support/tensor_literals.h"
#include "worker/runtime/partition/compile.h"

enum { FEEDS_MAX = 3, RUNS = 3 };

typedef struct Subject {
    const char *name;
    const char *graph;
    const char *feeds[FEEDS_MAX];
    const char *fetch;
} Subject;

#define BRANCHES                                                                                             \
    "function neg() -> ()\n"                                                                                 \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "y = Neg(x) T=float32\n"                                                                                 \
    "out = _Retval(y) T=float32 index=0\n"                                                                   \
    "end\n"                                                                                                  \
    "function twice() -> ()\n"                                                                               \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "two = _BlobConst() dtype=float32 shape=<> sha256='aa'\n"                                                \
    "m = Mul(x, two) T=float32\n"                                                                            \
    "y = Relu(m) T=float32\n"                                                                                \
    "out = _Retval(y) T=float32 index=0\n"                                                                   \
    "end\n"
#define CALL "Tindex=bool Tin=[float32] Tout=[float32] branches=[@neg,@twice]"

static const Subject subjects[] = {
    {"fused",
        "x = _Arg() T=float32 index=0\n"
        "one = Const() dtype=float32 value=float32(1)\n"
        "row = _Arg() T=float32 index=1\n"
        "a = Add(x, one) T=float32\n"
        "b = Mul(a, row) T=float32\n"
        "c = Less(b, x) T=float32\n"
        "d = SelectV2(c, a, b) T=float32\n"
        "e = Tanh(d) T=float32\n"
        "f = Sub(e, e) T=float32\n"
        "g = Add(f, a) T=float32\n"
        "out = _Retval(g) T=float32 index=0\n",
        {"float32[2,3] 1 2 3 4 5 6", "float32[3] 1 2 3"}, "float32[2,3] 2 3 4 5 6 7"},
    {"folded",
        "x = _Arg() T=float32 index=0\n"
        "a = Const() dtype=float32 value=float32<8>(2)\n"
        "b = Mul(a, a) T=float32\n"
        "s = Shape(b) T=float32 out_type=int32\n"
        "z = Fill(s, x) T=float32 index_type=int32\n"
        "y = Add(z, b) T=float32\n"
        "out = _Retval(y) T=float32 index=0\n",
        {"float32[] 1"}, "float32[8] 5 5 5 5 5 5 5 5"},
    {"planned",
        "x = _Arg() T=float32 index=0\n"
        "w = Const() dtype=float32 value=float32<2,2>(1;0;0;1)\n"
        "a = MatMul(x, w) T=float32\n"
        "b = MatMul(a, w) T=float32\n"
        "c = MatMul(b, a) T=float32\n"
        "n = Const() dtype=int32 value=int32(1)\n"
        "s = Split(n, c) T=float32 num_split=2\n"
        "y = Sub(s, s:1) T=float32\n"
        "out = _Retval(y) T=float32 index=0\n",
        {"float32[2,2] 1 2 3 4"}, "float32[2,1] -3 -7"},
    {"called",
        BRANCHES "p = _Arg() T=bool index=0\n"
                 "x = _Arg() T=float32 index=1\n"
                 "f = _Branch(p, x) " CALL "\n"
                 "q = LogicalNot(p)\n"
                 "g = _Branch(q, f) " CALL "\n"
                 "out = _Retval(g) T=float32 index=0\n",
        {"bool[] 0", "float32[] 3"}, "float32[] -6"},
    {"loop",
        "x = _Arg() T=int32 index=0\n"
        "e = Enter(x) T=int32 frame_name='loop' parallel_iterations=3\n"
        "m = Merge(e, n) T=int32 N=2\n"
        "limit = Const() dtype=int32 value=int32(5)\n"
        "el = Enter(limit) T=int32 frame_name='loop' is_constant=true parallel_iterations=3\n"
        "less = Less(m, el) T=int32\n"
        "c = LoopCond(less)\n"
        "s = Switch(m, c) T=int32\n"
        "one = Const(^s) dtype=int32 value=int32(1)\n"
        "more = Add(s:1, one) T=int32\n"
        "n = NextIteration(more) T=int32\n"
        "q = Exit(s) T=int32\n"
        "out = _Retval(q) T=int32 index=0\n",
        {"int32[] 0"}, "int32[] 5"},
    {"transferred",
        "x = _Arg() T=float32 index=0\n"
        "s = _Send(x) T=float32 send_device='/slot:0' recv_device='/slot:0' tensor_name='e'\n"
        "r = _Recv() tensor_type=float32 send_device='/slot:0' recv_device='/slot:0' tensor_name='e'\n"
        "y = Neg(r) T=float32\n"
        "out = _Retval(y) T=float32 index=0\n",
        {"float32[2] 1 2"}, "float32[2] -1 -2"},
    {"stateful",
        "x = _Arg() T=float32 index=0\n"
        "v = VarHandleOp() dtype=float32 shape=<2> shared_name='v'\n"
        "a = AssignVariableOp(v, x) dtype=float32\n"
        "r = ReadVariableOp(v, ^a) dtype=float32\n"
        "out = _Retval(r) T=float32 index=0\n",
        {"float32[2] 1 2"}, "float32[2] 1 2"},
    {"queued",
        "x = _Arg() T=float32 index=0\n"
        "q = FIFOQueueV2() component_types=[float32] capacity=2\n"
        "e = QueueEnqueueV2(q, x) Tcomponents=[float32]\n"
        "d = QueueDequeueV2(q, ^e) component_types=[float32]\n"
        "out = _Retval(d) T=float32 index=0\n",
        {"float32[2] 1 2"}, "float32[2] 1 2"},
};

static TensorBuffer *
find_two(void *context, Slice sha256)
{
    (void)context;
    (void)sha256;
    static _Alignas(64) float two = 2;
    static TensorBuffer blob = {.reference_count = 1, .size = sizeof two, .data = &two, .is_view = true};
    return tensor_buffer_ref(&blob);
}

static Status
compile(RunFixture *fixture, GraphDef *def, Partition **ret_partition)
{
    BlobSource blobs = {.find = find_two};
    MissingBlobs missing = {0};
    return partition_compile(&fixture->call, def, fixture_devices(fixture), &blobs, &missing, ret_partition);
}

static Status
run(RunFixture *fixture, const Subject *subject, Partition *partition)
{
    size_t at = fail_alloc_at;
    RunOutcome outcome = {0};
    Tensor feeds[FEEDS_MAX] = {0};
    RunRequest request = {.partition = partition, .args = feeds, .callbacks = outcome_callbacks(&outcome)};
    fail_alloc_at = 0; /* for the test itself */
    AUTO_TENSOR expected = tensor_literal(subject->fetch);
    for (; request.arg_count < FEEDS_MAX && subject->feeds[request.arg_count] != NULL; request.arg_count++) {
        feeds[request.arg_count] = tensor_literal(subject->feeds[request.arg_count]);
    }
    request.rendezvous = rendezvous_new(0, NULL);
    request.container = container_new();
    assert_true(request.rendezvous != NULL && request.container != NULL);
    atomic_store_relaxed(&fail_alloc_count, 0);
    atomic_store_relaxed(&fail_alloc_at, at);
    Status status = run_start(&fixture->call, &request, NULL);
    if (status == STATUS_OK) {
        outcome_wait(&outcome);
        status = outcome.code;
    }
    atomic_store_relaxed(&fail_alloc_at, 0);
    if (status == STATUS_OK && !tensor_equal(&outcome.outputs[0], &expected)) {
        fail_msg("%s: another result", subject->name);
    }
    outcome_clear(&outcome);
    for (uint32_t index = 0; index < request.arg_count; index++) {
        tensor_unref(&feeds[index]);
    }
    rendezvous_unref(request.rendezvous);
    container_unref(request.container);
    return status;
}

static void
check_told(const Subject *subject, const char *what, size_t at, Status status)
{
    if (status != STATUS_OK && status != STATUS_RESOURCE_EXHAUSTED) {
        fail_msg("%s: %s with allocation %zu failing says %s", subject->name, what, at, status_name(status));
    }
}

/* Compiles with allocation `at` failing; returns true when there is no such allocation. */
static bool
compile_failing(const Subject *subject, GraphDef *def, size_t at)
{
    RunFixture fixture;
    Partition *partition = NULL;
    fixture_begin(&fixture, 1);
    fail_alloc_count = 0;
    fail_alloc_at = at;
    Status status = compile(&fixture, def, &partition);
    fail_alloc_at = 0;
    bool is_past = fail_alloc_count < at;
    check_told(subject, "a compile", at, status);
    assert_int_equal(status == STATUS_OK, partition != NULL);
    if (partition != NULL) {
        assert_int_equal(run(&fixture, subject, partition), STATUS_OK);
    }
    partition_unref(partition);
    fixture_end(&fixture);
    return is_past;
}

static void
each_allocation_of_a_compile_may_fail(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(subjects); index++) {
        AUTO_GRAPH_DEF def = graph_literal(subjects[index].graph);
        size_t at = 1;
        assert_non_null(def);
        (void)compile_failing(&subjects[index], def, 0); /* makes what lives as long as the process */
        while (!compile_failing(&subjects[index], def, at)) {
            at++;
        }
        assert_true(at > 10);
    }
}

/* A partition's first run makes a memory plan and the bodies of functions for all later ones. */
static bool
run_failing(const Subject *subject, GraphDef *def, size_t at)
{
    RunFixture fixture;
    AUTO_PARTITION partition = NULL;
    fixture_begin(&fixture, 1);
    assert_status(&fixture.call, STATUS_OK, compile(&fixture, def, &partition));
    fail_alloc_at = at;
    check_told(subject, "a run", at, run(&fixture, subject, partition));
    bool is_past = atomic_load_relaxed(&fail_alloc_count) < at;
    for (int count = 0; count < RUNS; count++) {
        assert_int_equal(run(&fixture, subject, partition), STATUS_OK);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
    return is_past;
}

static void
each_allocation_of_a_run_may_fail(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(subjects); index++) {
        AUTO_GRAPH_DEF def = graph_literal(subjects[index].graph);
        size_t at = 1;
        assert_non_null(def);
        while (!run_failing(&subjects[index], def, at)) {
            at++;
        }
        assert_true(at > 3);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_a_compile_may_fail),
        cmocka_unit_test(each_allocation_of_a_run_may_fail),
    };
    return cmocka_run_group_tests_name("partition memory", tests, NULL, NULL);
}
