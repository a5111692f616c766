/* Branches that are called: a run inside a run. */
#include "tests/support/cmocka_all.h"

#include "shared/base/clock.h"
#include "tests/support/graph_case.h"
#include "tests/support/graph_literals.h"
#include "tests/support/tensor_literals.h"
#include "worker/runtime/partition/compile.h"
#include "worker/runtime/partition/library.h"
#include "worker/runtime/partition/schedule.h"

#define CALL "Tin=[float32] Tout=[float32] branches=[@neg,@twice]"
#define FUNCTIONS                                                                                            \
    "function neg() -> ()\n"                                                                                 \
    "f/x = _Arg() T=float32 index=0\n"                                                                       \
    "f/then/y = Neg(f/x) T=float32\n"                                                                        \
    "f/out = _Retval(f/then/y) T=float32 index=0\n"                                                          \
    "end\n"                                                                                                  \
    "function twice() -> ()\n"                                                                               \
    "f/x = _Arg() T=float32 index=0\n"                                                                       \
    "f/two = Const() dtype=float32 value=float32(2)\n"                                                       \
    "f/else/y = Mul(f/x, f/two) T=float32\n"                                                                 \
    "f/out = _Retval(f/else/y) T=float32 index=0\n"                                                          \
    "end\n"
#define BY_BOOL                                                                                              \
    FUNCTIONS "p = _Arg() T=bool index=0\n"                                                                  \
              "x = _Arg() T=float32 index=1\n"                                                               \
              "f = _Branch(p, x) Tindex=bool " CALL "\n"                                                     \
              "out = _Retval(f) T=float32 index=0\n"
#define BY_NUMBER                                                                                            \
    FUNCTIONS "p = _Arg() T=int32 index=0\n"                                                                 \
              "x = _Arg() T=float32 index=1\n"                                                               \
              "f = _Branch(p, x) Tindex=int32 " CALL "\n"                                                    \
              "out = _Retval(f) T=float32 index=0\n"

static void
a_branch_is_taken_by_truth_or_number(void **state)
{
    (void)state;
    static const GraphCase cases[] = {
        {.graph = BY_BOOL, .feeds = {"bool[] 1", "float32[] 3"}, .fetches = {"float32[] -3"}},
        {.graph = BY_BOOL, .feeds = {"bool[] 0", "float32[] 3"}, .fetches = {"float32[] 6"}},
        {.graph = BY_NUMBER, .feeds = {"int32[] 0", "float32[] 3"}, .fetches = {"float32[] -3"}},
        {.graph = BY_NUMBER, .feeds = {"int32[] 1", "float32[] 3"}, .fetches = {"float32[] 6"}},
        {.graph = BY_NUMBER, .feeds = {"int32[] 7", "float32[] 3"}, .fetches = {"float32[] 6"}},
        {.graph = BY_NUMBER, .feeds = {"int32[] -1", "float32[] 3"}, .fetches = {"float32[] 6"}},
        {.graph = BY_NUMBER,
            .feeds = {"int32[2] 0 1", "float32[] 3"},
            .error = "one element says which of 2 branches is taken, not 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    graph_cases_run(cases, COUNT_OF(cases));
}

static void
a_branch_calls_branches_and_is_called_in_loops(void **state)
{
    (void)state;
    static const GraphCase cases[] = {
        {.graph =
                FUNCTIONS "function both() -> ()\n"
                          "x = _Arg() T=float32 index=0\n"
                          "no = Const() dtype=bool value=bool(0)\n"
                          "once = _Branch(no, x) Tindex=bool " CALL "\n"
                          "again = _Branch(no, once) Tindex=bool " CALL "\n"
                          "out = _Retval(again) T=float32 index=0\n"
                          "end\n"
                          "p = _Arg() T=bool index=0\n"
                          "x = _Arg() T=float32 index=1\n"
                          "f = _Branch(p, x) Tindex=bool Tin=[float32] Tout=[float32] branches=[@both,@neg]\n"
                          "out = _Retval(f) T=float32 index=0\n",
            .feeds = {"bool[] 1", "float32[] 3"},
            .fetches = {"float32[] 12"}},
        {.graph = FUNCTIONS "x = _Arg() T=float32 index=0\n"
                            "limit = Const() dtype=float32 value=float32(100)\n"
                            "zero = Const() dtype=float32 value=float32(0)\n"
                            "e = Enter(x) T=float32 frame_name='loop' parallel_iterations=4\n"
                            "m = Merge(e, n) T=float32 N=2\n"
                            "size = Abs(m) T=float32\n"
                            "less = Less(size, limit) T=float32\n"
                            "cond = LoopCond(less)\n"
                            "s = Switch(m, cond) T=float32\n"
                            "is_negative = Less(s:1, zero) T=float32\n"
                            "f = _Branch(is_negative, s:1) Tindex=bool " CALL "\n"
                            "minus = Const() dtype=float32 value=float32(-1.5)\n"
                            "more = Mul(f, minus) T=float32\n"
                            "n = NextIteration(more) T=float32\n"
                            "q = Exit(s) T=float32\n"
                            "out = _Retval(q) T=float32 index=0\n",
            .feeds = {"float32[] 3"},
            .fetches = {"float32[] -102.515625"}},
    };
    graph_cases_run(cases, COUNT_OF(cases));
}

static void
variables_are_the_sessions(void **state)
{
    (void)state;
    static const GraphCase cases[] = {
        {.graph = "function set() -> ()\n"
                  "x = _Arg() T=float32 index=0\n"
                  "v = VarHandleOp() dtype=float32 shape=<> shared_name='v'\n"
                  "a = AssignVariableOp(v, x) dtype=float32\n"
                  "r = ReadVariableOp(v, ^a) dtype=float32\n"
                  "out = _Retval(r) T=float32 index=0\n"
                  "end\n"
                  "function add() -> ()\n"
                  "x = _Arg() T=float32 index=0\n"
                  "v = VarHandleOp() dtype=float32 shape=<> shared_name='v'\n"
                  "a = AssignAddVariableOp(v, x) dtype=float32\n"
                  "r = ReadVariableOp(v, ^a) dtype=float32\n"
                  "out = _Retval(r) T=float32 index=0\n"
                  "end\n"
                  "yes = Const() dtype=bool value=bool(1)\n"
                  "no = Const() dtype=bool value=bool(0)\n"
                  "x = _Arg() T=float32 index=0\n"
                  "f = _StateBranch(yes, x) Tindex=bool Tin=[float32] Tout=[float32] branches=[@set,@add]\n"
                  "g = _StateBranch(no, f) Tindex=bool Tin=[float32] Tout=[float32] branches=[@set,@add]\n"
                  "out = _Retval(g) T=float32 index=0\n",
            .feeds = {"float32[] 3"},
            .fetches = {"float32[] 6"}},
        {.graph = "v = VarHandleOp() dtype=float32 shape=<> shared_name='v'\n"
                  "r = ReadVariableOp(v) dtype=float32\n"
                  "out = _Retval(r) T=float32 index=0\n",
            .fetches = {"float32[] 6"}},
    };
    graph_cases_run(cases, COUNT_OF(cases));
}

/* The feed takes 400,000 of 600,000 bytes; the positions that are found would need 800,000. */
static void
a_branch_takes_what_its_caller_may_still_take(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture,
        "function find() -> ()\n"
        "x = _Arg() T=float32 index=0\n"
        "found = Where(x) T=float32\n"
        "out = _Retval(found) T=int64 index=0\n"
        "end\n"
        "p = _Arg() T=bool index=0\n"
        "x = _Arg() T=float32 index=1\n"
        "f = _Branch(p, x) Tindex=bool Tin=[float32] Tout=[int64] branches=[@find,@find]\n"
        "out = _Retval(f) T=int64 index=0\n");
    Shape scalar = shape_scalar();
    Tensor args[2] = {[1] = fixture_vector(&fixture, 100 * 1000, 1)};
    assert_true(tensor_new(DTYPE_BOOL, &scalar, &args[0]));
    *(bool *)args[0].data = true;
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = 2,
        .memory_limit = 600 * 1000,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(outcome.node, "found");
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* A product of 0.7 thousand million operations, which no two threads do in the time that is asked for here:
 * it is the called function's, and counts as its caller's. */
static void
what_a_branch_computes_is_its_callers(void **state)
{
    (void)state;
    enum { SIZE = 700, COMPUTED_MIN_NS = 500 * 1000 };
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture,
        "function square() -> ()\n"
        "x = _Arg() T=float32 index=0\n"
        "y = MatMul(x, x) T=float32\n"
        "out = _Retval(y) T=float32 index=0\n"
        "end\n"
        "p = _Arg() T=bool index=0\n"
        "x = _Arg() T=float32 index=1\n"
        "f = _Branch(p, x) Tindex=bool Tin=[float32] Tout=[float32] branches=[@square,@square]\n"
        "out = _Retval(f) T=float32 index=0\n");
    Shape scalar = shape_scalar();
    Shape square = {.rank = 2, .dims = {SIZE, SIZE}};
    Tensor args[2] = {[1] = fixture_numbers(&fixture, &square, 1)};
    assert_true(tensor_new(DTYPE_BOOL, &scalar, &args[0]));
    *(bool *)args[0].data = true;
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    assert_in_range(outcome.stats.computed_ns, COMPUTED_MIN_NS, UINT64_MAX);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
branch_args(RunFixture *fixture, bool takes_first, Tensor args[2])
{
    Shape scalar = shape_scalar();
    assert_true(tensor_new(DTYPE_BOOL, &scalar, &args[0]));
    *(bool *)args[0].data = takes_first;
    args[1] = fixture_vector(fixture, 2, 3);
}

static void
what_is_not_taken_is_not_compiled(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, BY_BOOL);
    assert_null(library_find(partition->library, SLICE("twice")));
    for (int round = 0; round < 3; round++) {
        RunOutcome outcome = {0};
        Tensor args[2];
        branch_args(&fixture, false, args);
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_float_equal(tensor_float(&outcome.outputs[0], 1), 6, 0);
        outcome_clear(&outcome);
    }
    assert_non_null(library_find(partition->library, SLICE("twice")));
    assert_null(library_find(partition->library, SLICE("neg")));
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
many_runs_call_at_once(void **state)
{
    (void)state;
    enum { RUN_COUNT = 16 };
    RunFixture fixture;
    RunOutcome outcomes[RUN_COUNT] = {0};
    fixture_begin(&fixture, 3);
    AUTO_PARTITION partition = fixture_compile(&fixture, BY_BOOL);
    for (int index = 0; index < RUN_COUNT; index++) {
        Tensor args[2];
        branch_args(&fixture, index % 2 == 0, args);
        RunRequest request = {.partition = partition,
            .args = args,
            .arg_count = 2,
            .callbacks = outcome_callbacks(&outcomes[index])};
        assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    }
    for (int index = 0; index < RUN_COUNT; index++) {
        outcome_wait(&outcomes[index]);
        assert_float_equal(tensor_float(&outcomes[index].outputs[0], 1), (index % 2 == 0 ? -3 : 6), 0);
        outcome_clear(&outcomes[index]);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
an_error_names_the_node_inside(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture,
        "function bad() -> ()\n"
        "x = _Arg() T=float32 index=0\n"
        "size = Const() dtype=int32 value=int32<1>(5)\n"
        "cond/then/reshape = Reshape(x, size) T=float32 Tshape=int32\n"
        "out = _Retval(cond/then/reshape) T=float32 index=0\n"
        "end\n"
        "p = _Arg() T=bool index=0\n"
        "x = _Arg() T=float32 index=1\n"
        "cond = _Branch(p, x) Tindex=bool Tin=[float32] Tout=[float32] branches=[@bad,@bad]\n"
        "out = _Retval(cond) T=float32 index=0\n");
    RunOutcome outcome = {0};
    Tensor args[2];
    branch_args(&fixture, true, args);
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(outcome.node, "cond/then/reshape");
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

#define ENDLESS_FUNCTION(type)                                                                               \
    "function endless() -> ()\n"                                                                             \
    "x = _Arg() T=" type " index=0\n"                                                                        \
    "true = Const() dtype=bool value=bool(1)\n"                                                              \
    "e = Enter(x) T=" type " frame_name='loop' parallel_iterations=2\n"                                      \
    "m = Merge(e, n) T=" type " N=2\n"                                                                       \
    "c = Enter(true) T=bool frame_name='loop' parallel_iterations=2 is_constant=true\n"                      \
    "cond = LoopCond(c)\n"                                                                                   \
    "s = Switch(m, cond) T=" type "\n"                                                                       \
    "y = Neg(s:1) T=" type "\n"                                                                              \
    "n = NextIteration(y) T=" type "\n"                                                                      \
    "q = Exit(s) T=" type "\n"                                                                               \
    "out = _Retval(q) T=" type " index=0\n"                                                                  \
    "end\n"
#define ENDLESS                                                                                              \
    ENDLESS_FUNCTION("float32")                                                                              \
    "p = _Arg() T=bool index=0\n"                                                                            \
    "x = _Arg() T=float32 index=1\n"                                                                         \
    "f = _Branch(p, x) Tindex=bool Tin=[float32] Tout=[float32] branches=[@endless,@endless]\n"              \
    "out = _Retval(f) T=float32 index=0\n"

static Run *
start_endless(RunFixture *fixture, Partition *partition, uint64_t deadline_ns, RunOutcome *outcome)
{
    Run *run = NULL;
    Tensor args[2];
    branch_args(fixture, true, args);
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = 2,
        .deadline_ns = deadline_ns,
        .callbacks = outcome_callbacks(outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, &run));
    return run;
}

static void
a_cancelled_run_ends_what_it_called(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, ENDLESS);
    for (int round = 0; round < 20; round++) {
        RunOutcome outcome = {0};
        Run *run = start_endless(&fixture, partition, 0, &outcome);
        uint64_t until = clock_monotonic_ns() + (uint64_t)round * 100 * CLOCK_NS_PER_US;
        while (clock_monotonic_ns() < until) {}
        run_cancel(run, STATUS_CANCELLED, "the caller gave up");
        outcome_wait(&outcome);
        assert_int_equal(outcome.code, STATUS_CANCELLED);
        assert_string_equal(outcome.message, "the caller gave up");
        outcome_clear(&outcome);
        run_unref(run);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
the_deadline_holds_inside(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, ENDLESS);
    RunOutcome outcome = {0};
    Run *run = start_endless(&fixture, partition, clock_monotonic_ns() + 20 * CLOCK_NS_PER_MS, &outcome);
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_DEADLINE_EXCEEDED);
    outcome_clear(&outcome);
    run_unref(run);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* down(n) calls down(n - 1), and down(1) calls `last`. */
#define DOWN(last)                                                                                           \
    "function down() -> ()\n"                                                                                \
    "n = _Arg() T=int32 index=0\n"                                                                           \
    "one = Const() dtype=int32 value=int32(1)\n"                                                             \
    "less = Sub(n, one) T=int32\n"                                                                           \
    "goes_on = GreaterEqual(less, one) T=int32\n"                                                            \
    "call = _Branch(goes_on, less) Tindex=bool Tin=[int32] Tout=[int32] branches=[@down,@" last "]\n"        \
    "out = _Retval(call) T=int32 index=0\n"                                                                  \
    "end\n"                                                                                                  \
    "index = Const() dtype=int32 value=int32(0)\n"                                                           \
    "n = _Arg() T=int32 index=0\n"                                                                           \
    "f = _Branch(index, n) Tindex=int32 Tin=[int32] Tout=[int32] branches=[@down]\n"                         \
    "out = _Retval(f) T=int32 index=0\n"

static void
calls_go_as_deep_as_the_limit(void **state)
{
    (void)state;
    static const char down[] = "function same() -> ()\n"
                               "n = _Arg() T=int32 index=0\n"
                               "out = _Retval(n) T=int32 index=0\n"
                               "end\n" DOWN("same");
    static const GraphCase cases[] = {
        {.graph = down, .feeds = {"int32[] 10"}, .fetches = {"int32[] 0"}},
        {.graph = down, .feeds = {"int32[] 999"}, .fetches = {"int32[] 0"}},
        {.graph = down,
            .feeds = {"int32[] 1000"},
            .error = "functions call each other more than 1000 deep: one calls itself without end, or nearly",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.graph = down, .feeds = {"int32[] 999"}, .fetches = {"int32[] 0"}},
    };
    graph_cases_run(cases, COUNT_OF(cases));
}

/* Each round cancels at another moment. */
static void
a_deep_call_is_cancelled_down_to_its_end(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, ENDLESS_FUNCTION("int32") DOWN("endless"));
    for (uint64_t round = 0; round < 8; round++) {
        RunOutcome outcome = {0};
        Run *run = NULL;
        Tensor arg = tensor_literal("int32[] 990");
        RunRequest request = {
            .partition = partition, .args = &arg, .arg_count = 1, .callbacks = outcome_callbacks(&outcome)};
        assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, &run));
        uint64_t until = clock_monotonic_ns() + (CLOCK_NS_PER_MS << round);
        while (clock_monotonic_ns() < until) {}
        run_cancel(run, STATUS_CANCELLED, "the caller gave up");
        outcome_wait(&outcome);
        assert_int_equal(outcome.code, STATUS_CANCELLED);
        outcome_clear(&outcome);
        run_unref(run);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
expect_refused(const char *text, const char *message)
{
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_GRAPH_DEF def = graph_literal(text);
    MissingBlobs missing = {0};
    Partition *partition = NULL;
    assert_int_equal(
        partition_compile(&fixture.call, def, fixture_devices(&fixture), NULL, &missing, &partition),
        STATUS_INVALID_ARGUMENT);
    assert_string_equal(fixture.call.error.message, message);
    fixture_end(&fixture);
}

static void
a_function_calls_only_what_the_library_has(void **state)
{
    (void)state;
    expect_refused(FUNCTIONS "p = _Arg() T=bool index=0\n"
                             "f = _Branch(p) Tindex=bool Tin=[] Tout=[] branches=[@neg,@nobody]\n",
        "node 'f' calls function 'nobody', which does not exist");
}

static void
a_call_that_does_not_fit_fails_the_run(void **state)
{
    (void)state;
    static const GraphCase cases[] = {
        {.graph = FUNCTIONS "p = _Arg() T=bool index=0\n"
                            "f = _Branch(p) Tindex=bool Tin=[] Tout=[float32] branches=[@neg,@twice]\n"
                            "out = _Retval(f) T=float32 index=0\n",
            .feeds = {"bool[] 1"},
            .error = "the partition takes 1 feeds, not 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = FUNCTIONS "p = _Arg() T=bool index=0\n"
                            "f = _Branch(p, p) Tindex=bool Tin=[bool] Tout=[float32] branches=[@neg,@twice]\n"
                            "out = _Retval(f) T=float32 index=0\n",
            .feeds = {"bool[] 1"},
            .error = "feed 0 must be of type float32, not bool",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = FUNCTIONS "p = _Arg() T=bool index=0\n"
                            "f = _Branch(p, p) Tindex=bool Tin=[bool] Tout=[] branches=[@neg,@twice]\n",
            .feeds = {"bool[] 1"},
            .error = "function 'neg' has 1 outputs, the node has 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = "p = _Arg() T=bool index=0\n"
                  "f = _Branch(p, p) Tindex=bool Tin=[bool] Tout=[] branches=[]\n",
            .feeds = {"bool[] 1"},
            .error = "the partition has no functions",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    graph_cases_run(cases, COUNT_OF(cases));
}

static void
blobs_of_branches_are_asked_for_ahead(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_GRAPH_DEF def = graph_literal("function f() -> ()\n"
                                       "a = _BlobConst() dtype=float32 shape=<2> sha256='aa'\n"
                                       "b = _BlobConst() dtype=float32 shape=<2> sha256='bb'\n"
                                       "end\n"
                                       "a = _BlobConst() dtype=float32 shape=<2> sha256='aa'\n"
                                       "p = _Arg() T=bool index=0\n"
                                       "f = _Branch(p) Tindex=bool Tin=[] Tout=[] branches=[@f,@f]\n");
    MissingBlobs missing = {0};
    Partition *partition = NULL;
    assert_int_equal(
        partition_compile(&fixture.call, def, fixture_devices(&fixture), NULL, &missing, &partition),
        STATUS_FAILED_PRECONDITION);
    assert_int_equal(missing.count, 2);
    assert_string_equal(missing.sha256[0], "aa");
    assert_string_equal(missing.sha256[1], "bb");
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_branch_is_taken_by_truth_or_number),
        cmocka_unit_test(a_branch_calls_branches_and_is_called_in_loops),
        cmocka_unit_test(variables_are_the_sessions),
        cmocka_unit_test(a_branch_takes_what_its_caller_may_still_take),
        cmocka_unit_test(what_a_branch_computes_is_its_callers),
        cmocka_unit_test(what_is_not_taken_is_not_compiled),
        cmocka_unit_test(many_runs_call_at_once),
        cmocka_unit_test(an_error_names_the_node_inside),
        cmocka_unit_test(a_cancelled_run_ends_what_it_called),
        cmocka_unit_test(the_deadline_holds_inside),
        cmocka_unit_test(calls_go_as_deep_as_the_limit),
        cmocka_unit_test(a_deep_call_is_cancelled_down_to_its_end),
        cmocka_unit_test(a_function_calls_only_what_the_library_has),
        cmocka_unit_test(a_call_that_does_not_fit_fails_the_run),
        cmocka_unit_test(blobs_of_branches_are_asked_for_ahead),
    };
    return cmocka_run_group_tests_name("worker/runtime/branch", tests, NULL, NULL);
}
