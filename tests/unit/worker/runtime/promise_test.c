/* Kernels that complete later. No op has one yet: a compiled partition's node is given one here. */
#include "tests/support/cmocka_all.h"

#include <sched.h>

#include "shared/base/clock.h"
#include "tests/support/partition_runs.h"
#include "worker/runtime/schedule.h"

static KernelPromise *pending[4]; /* atomic; in the order they started */
static int started;               /* atomic */
static int cancelled;             /* atomic */

static void
later_start(KernelPromise *promise)
{
    const int number = __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&pending[number % 4], promise, __ATOMIC_RELEASE);
}

static void
later_cancel(KernelPromise *promise)
{
    __atomic_add_fetch(&cancelled, 1, __ATOMIC_RELAXED);
    kernel_complete(promise, STATUS_CANCELLED);
}

/* The input, with its sign changed. */
static void
fulfil(KernelPromise *promise)
{
    KernelContext *const context = &promise->context;
    Tensor *output = NULL;
    const Status status =
        kernel_forward(context, 0, 0, context->inputs[0].dtype, &context->inputs[0].shape, &output);
    for (int64_t i = 0; status == STATUS_OK && i < tensor_element_count(output); i++) {
        ((float *)output->data)[i] = -((const float *)context->inputs[0].data)[i];
    }
    kernel_complete(promise, status);
}

static const Kernel later = {.op = "Identity", .start = later_start, .cancel = later_cancel};

static void
fulfil_at_once(KernelPromise *promise)
{
    (void)__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    fulfil(promise);
}

static const Kernel at_once = {.op = "Identity", .start = fulfil_at_once};

static Partition *
compile(RunFixture *fixture, const char *text, const Kernel *kernel)
{
    Partition *partition = fixture_compile(fixture, text);
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *const node = &partition->nodes[i];
        if (slice_starts_with(node->node->name, SLICE("later"))) {
            node->kernel = kernel;
            node->kind = SCHEDULE_PROMISE;
        }
    }
    __atomic_store_n(&started, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cancelled, 0, __ATOMIC_RELAXED);
    return partition;
}

static KernelPromise *
wait_for(int number)
{
    while (__atomic_load_n(&pending[number], __ATOMIC_ACQUIRE) == NULL) {
        (void)sched_yield();
    }
    return __atomic_exchange_n(&pending[number], NULL, __ATOMIC_ACQ_REL);
}

static Run *
start(RunFixture *fixture, Partition *partition, uint64_t deadline_ns, RunOutcome *outcome)
{
    Run *run = NULL;
    Tensor arg = fixture_vector(fixture, 2, 3);
    const RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .deadline_ns = deadline_ns,
        .callbacks = outcome_callbacks(outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, &run));
    return run;
}

static const char *const TWO = "x = _Arg() T=float32 index=0\n"
                               "later1 = Identity(x) T=float32\n"
                               "later2 = Identity(x) T=float32\n"
                               "y = Add(later1, later2) T=float32\n"
                               "out = _Retval(y) T=float32 index=0\n";

static void
a_run_waits_for_kernels_that_complete_later(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = compile(&fixture, TWO, &later);
    RunOutcome outcome = {0};
    Run *run = start(&fixture, partition, 0, &outcome);
    KernelPromise *const first = wait_for(0);
    KernelPromise *const second = wait_for(1);
    assert_int_equal(__atomic_load_n(&outcome.done_count, __ATOMIC_ACQUIRE), 0);
    fulfil(second);
    fulfil(first);
    outcome_wait(&outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 1), -6, 0);
    assert_int_equal(outcome.stats.node_count, 5);
    outcome_clear(&outcome);
    run_unref(run);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
one_that_completes_before_it_returns_is_fine_too(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = compile(&fixture, TWO, &at_once);
    for (int round = 0; round < 100; round++) {
        RunOutcome outcome = {0};
        Run *run = start(&fixture, partition, 0, &outcome);
        outcome_wait(&outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 1), -6, 0);
        outcome_clear(&outcome);
        run_unref(run);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_failure_is_the_runs_and_cancels_the_others(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = compile(&fixture, TWO, &later);
    RunOutcome outcome = {0};
    Run *run = start(&fixture, partition, 0, &outcome);
    KernelPromise *const first = wait_for(0);
    KernelPromise *const second = wait_for(1);
    const Status status = call_fail(first->context.call, STATUS_OUT_OF_RANGE, "the barrier was closed");
    kernel_complete(first, status);
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_OUT_OF_RANGE);
    assert_string_equal(outcome.message, "the barrier was closed");
    assert_int_equal(__atomic_load_n(&cancelled, __ATOMIC_RELAXED), 1);
    assert_non_null(second);
    outcome_clear(&outcome);
    run_unref(run);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_cancelled_run_tells_its_kernels_and_who_was_late(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = compile(&fixture, TWO, &later);
    RunOutcome outcome = {0};
    Run *run = start(&fixture, partition, 0, &outcome);
    (void)wait_for(0);
    (void)wait_for(1);
    run_cancel(run, STATUS_DEADLINE_EXCEEDED, "the step's deadline has passed");
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(outcome.message, "the step's deadline has passed; begun: 'later1', 'later2'");
    assert_int_equal(__atomic_load_n(&cancelled, __ATOMIC_RELAXED), 2);
    outcome_clear(&outcome);
    run_unref(run);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* An iteration is not done while one of its kernels is not. */
static void
an_iteration_waits_for_its_kernels(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = compile(&fixture,
        "x = _Arg() T=float32 index=0\n"
        "limit = Const() dtype=float32 value=float32(20)\n"
        "e = Enter(x) T=float32 frame_name='loop' parallel_iterations=2\n"
        "m = Merge(e, n) T=float32 N=2\n"
        "part = Slice(m, begin, size) T=float32 Index=int32\n"
        "begin = Const() dtype=int32 value=int32<1>(0)\n"
        "size = Const() dtype=int32 value=int32<1>(1)\n"
        "t = Less(part, limit) T=float32\n"
        "c = LoopCond(t)\n"
        "s = Switch(m, c) T=float32\n"
        "later = Identity(s:1) T=float32\n"
        "minus = Neg(later) T=float32\n"
        "a = Add(minus, minus) T=float32\n"
        "n = NextIteration(a) T=float32\n"
        "exit = Exit(s) T=float32\n"
        "out = _Retval(exit) T=float32 index=0\n",
        &at_once);
    for (int round = 0; round < 20; round++) {
        RunOutcome outcome = {0};
        Run *run = start(&fixture, partition, 0, &outcome);
        outcome_wait(&outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 0), 24, 0);
        outcome_clear(&outcome);
        run_unref(run);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Iterations that nothing but the loop's width keeps from starting; the kernel in each completes when told.
 */
static int
count_started(RunFixture *fixture, size_t loop_bytes_max)
{
    AUTO_PARTITION partition = compile(fixture,
        "x = _Arg() T=float32 index=0\n"
        "limit = Const() dtype=float32 value=float32(20)\n"
        "one = Const() dtype=float32 value=float32(1)\n"
        "begin = Const() dtype=int32 value=int32<1>(0)\n"
        "size = Const() dtype=int32 value=int32<1>(1)\n"
        "e = Enter(x) T=float32 frame_name='loop' parallel_iterations=4\n"
        "m = Merge(e, n) T=float32 N=2\n"
        "part = Slice(m, begin, size) T=float32 Index=int32\n"
        "t = Less(part, limit) T=float32\n"
        "c = LoopCond(t)\n"
        "s = Switch(m, c) T=float32\n"
        "later = Identity(s:1) T=float32\n"
        "a = Add(s:1, one) T=float32\n"
        "n = NextIteration(a) T=float32\n"
        "exit = Exit(s) T=float32\n"
        "out = _Retval(exit) T=float32 index=0\n",
        &later);
    partition->loop_bytes_max = loop_bytes_max;
    RunOutcome outcome = {0};
    Run *run = start(fixture, partition, 0, &outcome);
    const uint64_t until = clock_monotonic_ns() + 50 * CLOCK_NS_PER_MS;
    while (clock_monotonic_ns() < until && __atomic_load_n(&started, __ATOMIC_RELAXED) < 4) {
        (void)sched_yield();
    }
    const int count = __atomic_load_n(&started, __ATOMIC_RELAXED);
    run_cancel(run, STATUS_CANCELLED, "enough was seen");
    outcome_wait(&outcome);
    outcome_clear(&outcome);
    run_unref(run);
    partition_unref(TAKE(partition));
    return count;
}

static void
iterations_wait_when_they_take_too_much(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    assert_int_equal(count_started(&fixture, LOOP_BYTES_MAX), 4);
    assert_int_equal(count_started(&fixture, 1), 1);
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_waits_for_kernels_that_complete_later),
        cmocka_unit_test(one_that_completes_before_it_returns_is_fine_too),
        cmocka_unit_test(a_failure_is_the_runs_and_cancels_the_others),
        cmocka_unit_test(a_cancelled_run_tells_its_kernels_and_who_was_late),
        cmocka_unit_test(an_iteration_waits_for_its_kernels),
        cmocka_unit_test(iterations_wait_when_they_take_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
