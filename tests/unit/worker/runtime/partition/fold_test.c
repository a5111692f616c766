#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"

typedef struct Case {
    RunFixture fixture;
    RunOutcome outcome;
} Case;

/* Runs a graph without feeds. */
static void
case_run(Case *run, const char *text)
{
    fixture_begin(&run->fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&run->fixture, text);
    run->outcome = (RunOutcome){0};
    fixture_run(&run->fixture, partition, NULL, NULL, 0, &run->outcome);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_reads_constants_alone_never_runs),
        cmocka_unit_test(what_waits_for_a_control_edge_runs),
        cmocka_unit_test(what_a_folded_node_would_have_started_still_runs),
        cmocka_unit_test(what_fails_is_left_to_fail_in_the_run),
        cmocka_unit_test(a_merge_takes_what_runs),
        cmocka_unit_test(a_large_result_is_made_anew_each_time),
        cmocka_unit_test(large_results_are_kept_within_a_budget),
    };
    return cmocka_run_group_tests_name("worker/runtime/fold", tests, NULL, NULL);
}
