#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"
#include "tests/support/tensor_literals.h"
#include "worker/runtime/partition/schedule.h"

typedef struct Case {
    RunFixture fixture;
    RunOutcome outcome;
} Case;

/* Runs a graph without feeds, whose partition may keep `constants_max` bytes; 0: a quarter of the device's.
 */
static void
case_run_within(Case *run, uint64_t constants_max, const char *text)
{
    fixture_begin(&run->fixture, 2);
    run->fixture.device->constants_max = constants_max;
    AUTO_PARTITION partition = fixture_compile(&run->fixture, text);
    run->outcome = (RunOutcome){0};
    fixture_run(&run->fixture, partition, NULL, NULL, 0, &run->outcome);
}

static void
case_run(Case *run, const char *text)
{
    case_run_within(run, 0, text);
}

static void
case_end(Case *run)
{
    outcome_clear(&run->outcome);
    fixture_end(&run->fixture);
}

static void
what_reads_constants_alone_never_runs(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "a = Const() dtype=float32 value=float32<2>(3)\n"
                   "b = Const() dtype=float32 value=float32(2)\n"
                   "c = Mul(a, b) T=float32\n"
                   "d = Neg(c) T=float32\n"
                   "out = _Retval(d) T=float32 index=0\n");
    assert_string_equal(run.outcome.message, "");
    assert_int_equal(run.outcome.stats.node_count, 1);
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 0), -6, 0);
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 1), -6, 0);
    case_end(&run);
}

static void
what_waits_for_a_control_edge_runs(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "a = Const() dtype=float32 value=float32(3)\n"
                   "n = NoOp()\n"
                   "c = Neg(a, ^n) T=float32\n"
                   "out = _Retval(c) T=float32 index=0\n");
    assert_string_equal(run.outcome.message, "");
    assert_int_equal(run.outcome.stats.node_count, 3);
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 0), -3, 0);
    case_end(&run);
}

static void
an_optional_input_that_is_absent_is_known(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "a = Const() dtype=float32 value=float32<2>(3;8)\n"
                   "b = Const() dtype=float32 value=float32(5)\n"
                   "c = onnx::Clip(a, , b) T=float32\n"
                   "out = _Retval(c) T=float32 index=0\n");
    assert_string_equal(run.outcome.message, "");
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 0), 3, 0);
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 1), 5, 0);
    assert_int_equal(run.outcome.stats.node_count, 1);
    case_end(&run);
}

static void
what_a_folded_node_would_have_started_still_runs(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "a = Const() dtype=float32 value=float32(3)\n"
                   "b = Neg(a) T=float32\n"
                   "c = Const(^b) dtype=float32 value=float32(4)\n"
                   "out = _Retval(c) T=float32 index=0\n");
    assert_string_equal(run.outcome.message, "");
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 0), 4, 0);
    case_end(&run);
}

static void
what_fails_is_left_to_fail_in_the_run(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "a = Const() dtype=float32 value=float32<2>(3)\n"
                   "b = Const() dtype=float32 value=float32<3>(3)\n"
                   "c = Add(a, b) T=float32\n"
                   "out = _Retval(c) T=float32 index=0\n");
    assert_int_equal(run.outcome.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(run.outcome.node, "c");
    case_end(&run);
}

static void
a_merge_takes_what_runs(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "a = Const() dtype=float32 value=float32(3)\n"
                   "p = Const() dtype=bool value=bool(1)\n"
                   "s = Switch(a, p) T=float32\n"
                   "b = Neg(a) T=float32\n"
                   "c = Neg(s:1) T=float32\n"
                   "m = Merge(c) T=float32 N=1\n"
                   "n = Merge(b) T=float32 N=1\n"
                   "d = Add(m, n) T=float32\n"
                   "out = _Retval(d) T=float32 index=0\n");
    assert_string_equal(run.outcome.message, "");
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 0), -6, 0);
    case_end(&run);
}

static void
a_large_result_is_made_anew_each_time(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "d = Const() dtype=int32 value=int32<1>(17000000)\n"
                   "v = Const() dtype=float32 value=float32(1)\n"
                   "f = Fill(d, v) T=float32 index_type=int32\n"
                   "out = _Retval(f) T=float32 index=0\n");
    assert_string_equal(run.outcome.message, "");
    assert_int_equal(run.outcome.stats.node_count, 2);
    case_end(&run);
}

/* Weights that a model makes itself: 3 of 24 MiB are more than a quarter of the device's 256 MiB. */
static void
large_results_are_kept_within_a_budget(void **state)
{
    (void)state;
    Case run;
    case_run(&run, "d = Const() dtype=int32 value=int32<1>(6291456)\n"
                   "v = Const() dtype=float32 value=float32(1)\n"
                   "z = Const() dtype=int32 value=int32<1>(0)\n"
                   "a = Fill(d, v) T=float32 index_type=int32\n"
                   "b = Fill(d, v) T=float32 index_type=int32\n"
                   "c = Fill(d, v) T=float32 index_type=int32\n"
                   "n = Neg(c) T=float32\n"
                   "h = AddN(a, b, n) T=float32 N=3\ns = Sum(h, z) T=float32 Tidx=int32\n"
                   "out = _Retval(s) T=float32 index=0\n");
    assert_string_equal(run.outcome.message, "");
    assert_float_equal(tensor_float(&run.outcome.outputs[0], 0), 6291456, 0);
    assert_int_equal(run.outcome.stats.node_count, 4); /* c, n with h, s, out */
    case_end(&run);
}

/* Five turns of x = x + 2 × w - end, whose constants come through an Enter. */
#define LOOP                                                                                                 \
    "w = Const() dtype=float32 value=float32(2)\n"                                                           \
    "x = Const() dtype=float32 value=float32(10)\n"                                                          \
    "end = Const() dtype=float32 value=float32(5)\n"                                                         \
    "e = Enter(x) T=float32 frame_name='loop'\n"                                                             \
    "w_in = Enter(w) T=float32 frame_name='loop' is_constant=true\n"                                         \
    "end_in = Enter(end) T=float32 frame_name='loop' is_constant=true\n"                                     \
    "m = Merge(e, next) T=float32 N=2\n"                                                                     \
    "more = Greater(m, end_in) T=float32\n"                                                                  \
    "go = LoopCond(more)\n"                                                                                  \
    "s = Switch(m, go) T=float32\n"                                                                          \
    "back = Neg(w_in) T=float32\n"                                                                           \
    "far = Add(back, back) T=float32\n"                                                                      \
    "sum = Sub(s:1, far) T=float32\n"                                                                        \
    "less = Sub(sum, end_in) T=float32\n"                                                                    \
    "next = NextIteration(less) T=float32\n"                                                                 \
    "last = Exit(s) T=float32\n"                                                                             \
    "out = _Retval(last) T=float32 index=0\n"

/* Returns whether a run computes the node; one that was folded only gives its value. */
static bool
is_computed(const Partition *partition, const char *name)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        if (slice_equals_string(partition->nodes[id].node->name, name)) {
            return partition->nodes[id].kernel != NULL;
        }
    }
    fail_msg("no node '%s'", name);
    return false;
}

static void
run_loop(RunFixture *fixture)
{
    RunOutcome outcome = {0};
    AUTO_PARTITION partition = fixture_compile(fixture, LOOP);
    assert_false(is_computed(partition, "back"));
    assert_false(is_computed(partition, "far"));
    assert_true(is_computed(partition, "less"));
    fixture_run(fixture, partition, NULL, NULL, 0, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 0), 5, 0); /* 10, 9, 8, 7, 6, 5 */
    outcome_clear(&outcome);
}

static void
what_a_loop_computes_of_constants_is_computed_once(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    run_loop(&fixture);
    fixture_end(&fixture);
}

static const char BRANCHES[] = "a = Const() dtype=float32 value=float32(3)\n"
                               "p = _Arg() T=bool index=0\n"
                               "s = Switch(a, p) T=float32\n"
                               "no = Neg(s) T=float32\n"
                               "yes = Square(s:1) T=float32\n"
                               "m = Merge(no, yes) T=float32 N=2\n"
                               "out = _Retval(m) T=float32 index=0\n";

static void
run_branches(RunFixture *fixture)
{
    AUTO_PARTITION partition = fixture_compile(fixture, BRANCHES);
    assert_false(is_computed(partition, "no"));
    assert_false(is_computed(partition, "yes"));
    for (int is_taken = 0; is_taken < 2; is_taken++) {
        RunOutcome outcome = {0};
        Tensor args[] = {tensor_literal(is_taken ? "bool[] 1" : "bool[] 0")};
        fixture_run(fixture, partition, NULL, args, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 0), is_taken ? 9 : -3, 0);
        outcome_clear(&outcome);
    }
}

static void
what_a_branch_computes_of_constants_is_dead_with_the_branch(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    run_branches(&fixture);
    fixture_end(&fixture);
}

/* The transposed matrix takes 16 KiB, as the constant does; its shape and what is the constant's take none.
 */
static void
only_small_results_and_bytes_of_inputs_need_no_room(void **state)
{
    (void)state;
    Case run;
    case_run_within(&run, 8 << 10,
        "m = Const() dtype=float32 value=float32<64,64>(3)\n"
        "o = Const() dtype=int32 value=int32<2>(1;0)\n"
        "a = Const() dtype=int32 value=int32<2>(0;1)\n"
        "z = Const() dtype=int32 value=int32<1>(0)\n"
        "s = Shape(m) T=float32 out_type=int32\n"
        "p = Prod(s, z) T=int32 Tidx=int32\n"
        "i = Identity(m) T=float32\n"
        "t = Transpose(i, o) T=float32 Tperm=int32\n"
        "u = Sum(t, a) T=float32 Tidx=int32\n"
        "out0 = _Retval(p) T=int32 index=0\n"
        "out1 = _Retval(u) T=float32 index=1\n");
    assert_string_equal(run.outcome.message, "");
    assert_float_equal(tensor_float(&run.outcome.outputs[1], 0), 12288, 0);
    assert_int_equal(run.outcome.stats.node_count, 4); /* t, u, out0, out1 */
    case_end(&run);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_reads_constants_alone_never_runs),
        cmocka_unit_test(what_waits_for_a_control_edge_runs),
        cmocka_unit_test(an_optional_input_that_is_absent_is_known),
        cmocka_unit_test(what_a_folded_node_would_have_started_still_runs),
        cmocka_unit_test(what_fails_is_left_to_fail_in_the_run),
        cmocka_unit_test(a_merge_takes_what_runs),
        cmocka_unit_test(what_a_loop_computes_of_constants_is_computed_once),
        cmocka_unit_test(what_a_branch_computes_of_constants_is_dead_with_the_branch),
        cmocka_unit_test(a_large_result_is_made_anew_each_time),
        cmocka_unit_test(large_results_are_kept_within_a_budget),
        cmocka_unit_test(only_small_results_and_bytes_of_inputs_need_no_room),
    };
    return cmocka_run_group_tests_name("worker/runtime/fold", tests, NULL, NULL);
}
