/* Kernels that complete later, as those of queues do: nodes of a compiled partition are given a kernel
 * that completes when the test says so. */
#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <sched.h>

#include "tests/support/partition_runs.h"
#include "worker/runtime/memory_account.h"
#include "worker/runtime/partition/schedule.h"

static KernelPromise *pending[4]; /* atomic; in the order in which they started */
static int started;               /* atomic */
static int cancelled;             /* atomic */

static void
later_start(KernelPromise *promise)
{
    int number = atomic_fetch_add_relaxed(&started, 1);
    atomic_store_release(&pending[number % 4], promise);
}

static void
later_cancel(KernelPromise *promise)
{
    atomic_add_relaxed(&cancelled, 1);
    kernel_complete(promise, STATUS_CANCELLED);
}

/* Completes the kernel with its input negated. */
static void
fulfil(KernelPromise *promise)
{
    KernelContext *context = &promise->context;
    Tensor *output = NULL;
    Status status =
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
    (void)atomic_fetch_add_relaxed(&started, 1);
    fulfil(promise);
}

static const Kernel at_once = {.op = "Identity", .start = fulfil_at_once};

/* A partition whose nodes named "later…" have the test's kernel, and its runs one after the other. */
typedef struct PromiseRun {
    RunFixture fixture;
    Partition *partition;
    Run *run;
    RunOutcome outcome;
} PromiseRun;

static void
promise_begin(PromiseRun *promise, int thread_count, const char *text, const Kernel *kernel)
{
    *promise = (PromiseRun){0};
    fixture_begin(&promise->fixture, thread_count);
    promise->partition = fixture_compile(&promise->fixture, text);
    for (uint32_t i = 0; i < promise->partition->node_count; i++) {
        ScheduleNode *node = &promise->partition->nodes[i];
        if (slice_starts_with(node->node->name, SLICE("later"))) {
            node->kernel = kernel;
            node->kind = SCHEDULE_PROMISE;
        }
    }
}

static void
promise_start(PromiseRun *promise)
{
    Tensor arg = fixture_vector(&promise->fixture, 2, 3);
    RunRequest request = {.partition = promise->partition,
        .args = &arg,
        .arg_count = 1,
        .tenant = 77,
        .callbacks = outcome_callbacks(&promise->outcome)};
    memset(pending, 0, sizeof pending);
    atomic_store_relaxed(&started, 0);
    atomic_store_relaxed(&cancelled, 0);
    assert_status(
        &promise->fixture.call, STATUS_OK, run_start(&promise->fixture.call, &request, &promise->run));
}

/* Clears the outcome of a run that has ended. */
static void
promise_clear(PromiseRun *promise)
{
    outcome_clear(&promise->outcome);
    run_unref(TAKE(promise->run));
}

static void
promise_end(PromiseRun *promise)
{
    promise_clear(promise);
    partition_unref(promise->partition);
    fixture_end(&promise->fixture);
}

static KernelPromise *
wait_for(int number)
{
    while (atomic_load_acquire(&pending[number]) == NULL) {
        (void)sched_yield();
    }
    return atomic_exchange_acq_rel(&pending[number], NULL);
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
    PromiseRun promise;
    promise_begin(&promise, 2, TWO, &later);
    promise_start(&promise);
    KernelPromise *first = wait_for(0);
    assert_int_equal(first->context.account->tenant, 77);
    KernelPromise *second = wait_for(1);
    assert_int_equal(atomic_load_acquire(&promise.outcome.done_count), 0);
    fulfil(second);
    fulfil(first);
    outcome_wait(&promise.outcome);
    assert_string_equal(promise.outcome.message, "");
    assert_float_equal(tensor_float(&promise.outcome.outputs[0], 1), -6, 0);
    assert_int_equal(promise.outcome.stats.node_count, 5);
    promise_end(&promise);
}

/* Runs with kernels that complete before they return, and expects this element 0 in the end. */
static void
expect_at_once(const char *text, int rounds, float expected)
{
    PromiseRun promise;
    promise_begin(&promise, 2, text, &at_once);
    for (int round = 0; round < rounds; round++) {
        promise_start(&promise);
        outcome_wait(&promise.outcome);
        assert_string_equal(promise.outcome.message, "");
        assert_true(atomic_load_relaxed(&started) >= 2);
        assert_float_equal(tensor_float(&promise.outcome.outputs[0], 0), expected, 0);
        promise_clear(&promise);
    }
    promise_end(&promise);
}

static void
one_that_completes_before_it_returns_is_fine_too(void **state)
{
    (void)state;
    expect_at_once(TWO, 100, -6);
}

static void
a_failure_is_the_runs_and_cancels_the_others(void **state)
{
    (void)state;
    PromiseRun promise;
    promise_begin(&promise, 2, TWO, &later);
    promise_start(&promise);
    KernelPromise *first = wait_for(0);
    (void)wait_for(1);
    Status status = call_fail(first->context.call, STATUS_OUT_OF_RANGE, "the barrier was closed");
    kernel_complete(first, status);
    outcome_wait(&promise.outcome);
    assert_int_equal(promise.outcome.code, STATUS_OUT_OF_RANGE);
    assert_string_equal(promise.outcome.message, "the barrier was closed");
    assert_int_equal(atomic_load_relaxed(&cancelled), 1);
    promise_end(&promise);
}

static void
a_cancelled_run_tells_its_kernels_and_who_was_late(void **state)
{
    (void)state;
    PromiseRun promise;
    promise_begin(&promise, 1, TWO, &later);
    promise_start(&promise);
    (void)wait_for(0);
    (void)wait_for(1);
    run_cancel(promise.run, STATUS_DEADLINE_EXCEEDED, "the step's deadline has passed");
    outcome_wait(&promise.outcome);
    assert_int_equal(promise.outcome.code, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(promise.outcome.message, "the step's deadline has passed; begun: 'later1', 'later2'");
    assert_int_equal(atomic_load_relaxed(&cancelled), 2);
    promise_end(&promise);
}

/* A loop while the first element is below 20. BODY computes the next value from s:1, with the node
 * `later`. */
#define LOOP(PARALLEL, BODY)                                                                                 \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "limit = Const() dtype=float32 value=float32(20)\n"                                                      \
    "one = Const() dtype=float32 value=float32(1)\n"                                                         \
    "begin = Const() dtype=int32 value=int32<1>(0)\n"                                                        \
    "size = Const() dtype=int32 value=int32<1>(1)\n"                                                         \
    "e = Enter(x) T=float32 frame_name='loop' parallel_iterations=" PARALLEL "\n"                            \
    "m = Merge(e, n) T=float32 N=2\n"                                                                        \
    "part = Slice(m, begin, size) T=float32 Index=int32\n"                                                   \
    "t = Less(part, limit) T=float32\n"                                                                      \
    "c = LoopCond(t)\n"                                                                                      \
    "s = Switch(m, c) T=float32\n"                                                                           \
    "later = Identity(s:1) T=float32\n" BODY "n = NextIteration(a) T=float32\n"                              \
    "exit = Exit(s) T=float32\n"                                                                             \
    "out = _Retval(exit) T=float32 index=0\n"

/* An iteration is not done while one of its kernels is not. */
static void
an_iteration_waits_for_its_kernels(void **state)
{
    (void)state;
    expect_at_once(LOOP("2", "minus = Neg(later) T=float32\na = Add(minus, minus) T=float32\n"), 20, 24);
}

/* Returns how many iterations start when only the loop's width holds them back; their kernels wait for the
 * test. */
static int
count_started(size_t loop_bytes_max)
{
    PromiseRun promise;
    promise_begin(&promise, 1, LOOP("4", "a = Add(s:1, one) T=float32\n"), &later);
    promise.partition->loop_bytes_max = loop_bytes_max;
    promise_start(&promise);
    fixture_await_thread(&promise.fixture);
    int count = atomic_load_relaxed(&started);
    run_cancel(promise.run, STATUS_CANCELLED, "enough was seen");
    outcome_wait(&promise.outcome);
    promise_end(&promise);
    return count;
}

static void
iterations_wait_when_they_take_too_much(void **state)
{
    (void)state;
    assert_int_equal(count_started(LOOP_BYTES_MAX), 4);
    assert_int_equal(count_started(1), 1);
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
