/* Kernels that a few numbers make compute for hours end with their run. Each of these would outlast the test
 * by far. */
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/partition_runs.h"

#define NUMBERS(name, dtype, shape, values)                                                                  \
    name " = Const() dtype=" dtype " value=" dtype shape "(" values ")\n"
#define ARG "a = _Arg() T=float32 index=0\n"
#define OUT(dtype) "out = _Retval(y) T=" dtype " index=0\n"

static const char *const LONG[] = {
    /* 2²² channels, each of which sums up all the others. */
    ARG NUMBERS("size", "int32", "<4>", "1;4194304;1;1") "x = Fill(size, a) T=float32 index_type=int32\n"
                                                         "y = onnx::LRN(x) T=float32 size=8388608\n" OUT(
                                                             "float32"),
    /* 2³⁰ bins of a few points each. */
    ARG NUMBERS(
        "size", "int32", "<4>", "1;1024;8;8") "x = Fill(size, a) T=float32 index_type=int32\n" NUMBERS("rois",
        "float32", "<1,4>", "0;0;8000;8000") NUMBERS("batches", "int64", "<1>",
        "0") "y = onnx::RoiAlign(x, rois, batches) T1=float32 output_height=64 output_width=64 "
             "sampling_ratio=1024\n" OUT("float32"),
    /* A text of 2²⁴ characters, each of which moves a thousand threads. */
    ARG NUMBERS("size", "int32", "<1>", "2097152") NUMBERS(
        "axes", "int32", "<1>", "0") "one = AsString(a) T=float32\n"
                                     "many = Fill(size, one) T=string index_type=int32\n"
                                     "x = ReduceJoin(many, axes)\n"
                                     "y = onnx::RegexFullMatch(x) pattern='(.?){1000}(.*)*b'\n" OUT("bool"),
};

static Run *
start(RunFixture *fixture, Partition *partition, uint64_t deadline_ns, RunOutcome *outcome)
{
    Run *run = NULL;
    Tensor arg = fixture_floats(fixture, &(Shape){.rank = 0}, (const float[]){1});
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .deadline_ns = deadline_ns,
        .callbacks = outcome_callbacks(outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, &run));
    return run;
}

static void
expect_end(bool is_cancelled)
{
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t index = 0; index < COUNT_OF(LONG); index++) {
        AUTO_PARTITION partition = fixture_compile(&fixture, LONG[index]);
        RunOutcome outcome = {0};
        uint64_t deadline_ns = clock_monotonic_ns() + 300 * CLOCK_NS_PER_MS;
        Run *run = start(&fixture, partition, is_cancelled ? 0 : deadline_ns, &outcome);
        while (is_cancelled && clock_monotonic_ns() < deadline_ns) {}
        if (is_cancelled) {
            assert_int_equal(atomic_load_acquire(&outcome.done_count), 0);
            run_cancel(run, STATUS_CANCELLED, "the caller gave up");
        }
        outcome_wait(&outcome);
        assert_int_equal(outcome.code, is_cancelled ? STATUS_CANCELLED : STATUS_DEADLINE_EXCEEDED);
        outcome_clear(&outcome);
        run_unref(run);
    }
    fixture_end(&fixture);
}

static void
a_cancelled_run_ends_its_kernels(void **state)
{
    (void)state;
    expect_end(true);
}

static void
a_kernel_ends_at_the_deadline(void **state)
{
    (void)state;
    expect_end(false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_run_ends_its_kernels),
        cmocka_unit_test(a_kernel_ends_at_the_deadline),
    };
    return cmocka_run_group_tests_name("worker/runtime/run/long_kernel", tests, NULL, NULL);
}
