/* Feeds that come while their run goes on. */
#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <pthread.h>
#include <sched.h>

#include "tests/support/fail_alloc.h"
#include "tests/support/partition_runs.h"

/* Two stages: a needs x alone, b needs a and y. */
static const char *const STAGES = "x = _Arg() T=float32 index=0\n"
                                  "y = _Arg() T=float32 index=1\n"
                                  "a = Neg(x) T=float32\n"
                                  "b = Mul(a, y) T=float32\n"
                                  "out0 = _Retval(a) T=float32 index=0\n"
                                  "out1 = _Retval(b) T=float32 index=1\n";

typedef struct LateRun {
    RunFixture fixture;
    Partition *partition;
    RunOutcome outcome;
    RunRequest request;
    Run *run;
} LateRun;

static int rest_count; /* atomic: how often the run has told that it rests or goes on */

static void
note_rest(void *context)
{
    (void)context;
    atomic_add_acq_rel(&rest_count, 1);
}

static void
late_prepare(LateRun *late, const char *text, Tensor *args)
{
    *late = (LateRun){0};
    fixture_begin(&late->fixture, 1);
    late->partition = fixture_compile(&late->fixture, text);
    late->request = (RunRequest){
        .partition = late->partition,
        .args = args,
        .arg_count = 2,
        .feeds_come_late = true,
        .callbacks = outcome_callbacks(&late->outcome),
    };
    late->request.callbacks.on_rest = note_rest;
    rest_count = 0;
}

static void
late_begin(LateRun *late, const char *text, Tensor *args)
{
    late_prepare(late, text, args);
    assert_status(&late->fixture.call, STATUS_OK, run_start(&late->fixture.call, &late->request, &late->run));
}

static void
late_end(LateRun *late)
{
    outcome_wait(&late->outcome);
    assert_int_equal(late->outcome.done_count, 1);
    outcome_clear(&late->outcome);
    run_unref(late->run);
    assert_int_equal(fixture_memory_in_use(&late->fixture), 0);
    partition_unref(late->partition);
    fixture_end(&late->fixture);
}

static void
feed(LateRun *late, uint32_t index, float value)
{
    Tensor tensor = fixture_vector(&late->fixture, 2, value);
    assert_status(&late->fixture.call, STATUS_OK, run_feed(&late->fixture.call, late->run, index, &tensor));
    assert_null(tensor.buffer);
}

static void
await_outputs(const LateRun *late, int count)
{
    while (atomic_load_acquire(&late->outcome.output_count) < count) {
        (void)sched_yield();
    }
}

static void
each_feed_lets_what_needs_it_go_on(void **state)
{
    (void)state;
    LateRun late;
    Tensor args[2] = {0};
    late_begin(&late, STAGES, args);
    feed(&late, 0, 3);
    await_outputs(&late, 1);
    assert_float_equal(tensor_float(&late.outcome.outputs[0], 0), -3, 0);
    assert_int_equal(atomic_load_acquire(&late.outcome.done_count), 0);
    feed(&late, 1, 5);
    outcome_wait(&late.outcome);
    assert_string_equal(late.outcome.message, "");
    assert_float_equal(tensor_float(&late.outcome.outputs[1], 1), -15, 0);
    assert_int_equal(late.outcome.stats.node_count, 6);
    late_end(&late);
}

static void
await_rests(int count)
{
    while (atomic_load_acquire(&rest_count) < count) {
        (void)sched_yield();
    }
}

static void
it_rests_whenever_all_that_is_left_waits_for_feeds(void **state)
{
    (void)state;
    LateRun late;
    Tensor args[2] = {0};
    late_begin(&late, STAGES, args);
    await_rests(1);
    assert_true(run_rests(late.run));
    feed(&late, 0, 3);
    await_rests(2);
    assert_true(run_rests(late.run));
    assert_int_equal(atomic_load_acquire(&late.outcome.output_count), 1);
    assert_true(run_computed_ns(late.run) > 0);
    feed(&late, 1, 5);
    outcome_wait(&late.outcome);
    assert_int_equal(rest_count, 2); /* the end is no rest */
    late_end(&late);
}

/* A run that waits for feeds and for another slot. */
static void
it_tells_when_a_tensor_of_another_slot_wakes_it(void **state)
{
    static const char key[] = "/slot:1/device:CPU:0;/slot:0/device:CPU:0;r;0:0";
    static const char text[] =
        "x = _Arg() T=float32 index=0\n"
        "y = _Arg() T=float32 index=1\n"
        "r = _Recv() tensor_type=float32 tensor_name='r' send_device='/slot:1/device:CPU:0' "
        "recv_device='/slot:0/device:CPU:0'\n"
        "a = Neg(r) T=float32\n"
        "b = Mul(x, y) T=float32\n"
        "out0 = _Retval(a) T=float32 index=0\n"
        "out1 = _Retval(b) T=float32 index=1\n";
    (void)state;
    LateRun late;
    Tensor args[2] = {0};
    late_prepare(&late, text, args);
    Call *call = &late.fixture.call;
    Rendezvous *rendezvous = rendezvous_new(0, &(RendezvousRemote){.context = NULL});
    late.request.rendezvous = rendezvous;
    assert_status(call, STATUS_OK, run_start(call, &late.request, &late.run));
    await_rests(1);
    Tensor value = fixture_vector(&late.fixture, 2, 4);
    assert_status(
        call, STATUS_OK, rendezvous_deliver(call, rendezvous, slice_from_string(key), &value, false));
    await_rests(3); /* it goes on, and rests again */
    assert_true(run_rests(late.run));
    assert_int_equal(atomic_load_acquire(&late.outcome.output_count), 1);
    feed(&late, 0, 1);
    feed(&late, 1, 1);
    late_end(&late);
    rendezvous_unref(rendezvous);
}

static void
some_may_be_there_from_the_start(void **state)
{
    (void)state;
    LateRun late;
    RunFixture maker;
    fixture_begin(&maker, 1);
    Tensor args[2] = {[1] = fixture_vector(&maker, 2, 7)};
    late_begin(&late, STAGES, args);
    feed(&late, 0, 1);
    outcome_wait(&late.outcome);
    assert_float_equal(tensor_float(&late.outcome.outputs[1], 0), -7, 0);
    late_end(&late);
    fixture_end(&maker);
}

static void
a_run_that_is_cancelled_stops_waiting_and_drops_what_still_comes(void **state)
{
    (void)state;
    LateRun late;
    Tensor args[2] = {0};
    late_begin(&late, STAGES, args);
    feed(&late, 0, 3);
    await_outputs(&late, 1);
    fixture_await_thread(&late.fixture);
    run_cancel(late.run, STATUS_DEADLINE_EXCEEDED, "the deadline has passed");
    outcome_wait(&late.outcome);
    assert_int_equal(late.outcome.code, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(late.outcome.message, "the deadline has passed; waiting for feeds: 'y'");
    feed(&late, 1, 5);
    late_end(&late);
}

static void
a_feed_comes_once_and_of_its_type(void **state)
{
    (void)state;
    LateRun late;
    Tensor args[2] = {0};
    late_begin(&late, STAGES, args);
    Call *call = &late.fixture.call;
    Tensor tensor = fixture_vector(&late.fixture, 2, 1);
    feed(&late, 0, 3);
    assert_status(call, STATUS_INVALID_ARGUMENT, run_feed(call, late.run, 0, &tensor));
    assert_string_equal(call->error.message, "feed 0 has come already");
    assert_status(call, STATUS_INVALID_ARGUMENT, run_feed(call, late.run, 2, &tensor));
    assert_string_equal(call->error.message, "the run takes no feed 2 later");
    tensor.dtype = DTYPE_INT32;
    assert_status(call, STATUS_INVALID_ARGUMENT, run_feed(call, late.run, 1, &tensor));
    assert_string_equal(call->error.message, "feed 1 must be of type float32, not int32");
    tensor_unref(&tensor);
    run_cancel(late.run, STATUS_CANCELLED, "enough");
    late_end(&late);
}

typedef struct Feeder {
    LateRun *late;
    uint32_t index;
    pthread_t thread;
} Feeder;

static void *
feed_two(void *context)
{
    const Feeder *feeder = context;
    Call call = {0};
    Tensor tensor = fixture_vector(&feeder->late->fixture, 2, 2);
    Status status = run_feed(&call, feeder->late->run, feeder->index, &tensor);
    return status == STATUS_OK ? NULL : context;
}

/* Two threads of the test, beside the device's own. */
static void
feeds_may_come_from_any_thread_in_any_order(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 50; round++) {
        LateRun late;
        Tensor args[2] = {0};
        Feeder feeders[2];
        late_begin(&late, STAGES, args);
        for (uint32_t i = 0; i < COUNT_OF(feeders); i++) {
            feeders[i] = (Feeder){.late = &late, .index = (i + round) % 2};
            assert_int_equal(pthread_create(&feeders[i].thread, NULL, feed_two, &feeders[i]), 0);
        }
        for (uint32_t i = 0; i < COUNT_OF(feeders); i++) {
            void *failed = NULL;
            assert_int_equal(pthread_join(feeders[i].thread, &failed), 0);
            assert_null(failed);
        }
        outcome_wait(&late.outcome);
        assert_float_equal(tensor_float(&late.outcome.outputs[1], 0), -4, 0);
        late_end(&late);
    }
}

static Status
start(void *context)
{
    LateRun *late = context;
    return run_start(&late->fixture.call, &late->request, &late->run);
}

static void
without_memory_to_wait_nothing_begins(void **state)
{
    (void)state;
    LateRun late;
    Tensor args[2] = {0};
    late_prepare(&late, STAGES, args);
    assert_lack_of_memory_is_told(start, &late);
    run_cancel(late.run, STATUS_CANCELLED, "enough");
    late_end(&late);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_feed_lets_what_needs_it_go_on),
        cmocka_unit_test(it_rests_whenever_all_that_is_left_waits_for_feeds),
        cmocka_unit_test(it_tells_when_a_tensor_of_another_slot_wakes_it),
        cmocka_unit_test(some_may_be_there_from_the_start),
        cmocka_unit_test(a_run_that_is_cancelled_stops_waiting_and_drops_what_still_comes),
        cmocka_unit_test(a_feed_comes_once_and_of_its_type),
        cmocka_unit_test(feeds_may_come_from_any_thread_in_any_order),
        cmocka_unit_test(without_memory_to_wait_nothing_begins),
    };
    return cmocka_run_group_tests_name("late args", tests, NULL, NULL);
}
