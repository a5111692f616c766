#include "tests/support/cmocka_all.h"

#include "shared/base/clock.h"
#include "tests/support/partition_runs.h"

#define TO_SLOT_1                                                                                            \
    " tensor_name='edge_1_a' send_device='/slot:0/device:CPU:0' recv_device='/slot:1/device:CPU:0'\n"
#define TO_SLOT_0                                                                                            \
    " tensor_name='edge_2_b' send_device='/slot:1/device:CPU:0' recv_device='/slot:0/device:CPU:0'\n"
#define KEY_1 "/slot:0/device:CPU:0;/slot:1/device:CPU:0;edge_1_a;0:0"

/* -x goes to slot 1, where it is doubled and sent back; slot 0 adds x. */
static const char *const SLOT_0 = "x = _Arg() T=float32 index=0\n"
                                  "a = Neg(x) T=float32\n"
                                  "send = _Send(a) T=float32" TO_SLOT_1
                                  "b = _Recv() tensor_type=float32" TO_SLOT_0 "y = Add(b, x) T=float32\n"
                                  "out = _Retval(y) T=float32 index=0\n";

static const char *const SLOT_1 = "a = _Recv() tensor_type=float32" TO_SLOT_1 "b = Add(a, a) T=float32\n"
                                  "send = _Send(b) T=float32" TO_SLOT_0;

/* Two slots in one process: a tensor that one sends is delivered to the other at once. */
typedef struct Slots {
    Rendezvous *rendezvous[2];
} Slots;

static Status
slots_send(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead)
{
    const Slots *slots = context;
    bool to_first = slice_find(key, ';') + 7 < key.size && key.data[slice_find(key, ';') + 7] == '0';
    return rendezvous_deliver(call, slots->rendezvous[to_first ? 0 : 1], key, tensor, is_dead);
}

static void
slots_begin(Slots *slots)
{
    RendezvousRemote remote = {.context = slots, .send = slots_send};
    for (uint32_t i = 0; i < 2; i++) {
        slots->rendezvous[i] = rendezvous_new(i, &remote);
        assert_non_null(slots->rendezvous[i]);
    }
}

static void
slots_end(Slots *slots)
{
    rendezvous_unref(slots->rendezvous[0]);
    rendezvous_unref(slots->rendezvous[1]);
}

static Run *
start(RunFixture *fixture, Partition *partition, Rendezvous *rendezvous, Tensor *arg, RunOutcome *outcome)
{
    RunRequest request = {
        .partition = partition,
        .args = arg,
        .arg_count = arg == NULL ? 0 : 1,
        .rendezvous = rendezvous,
        .callbacks = outcome_callbacks(outcome),
    };
    Run *run = NULL;
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, &run));
    return run;
}

static void
two_slots_exchange_tensors_in_either_order_of_start(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION first = fixture_compile(&fixture, SLOT_0);
    AUTO_PARTITION second = fixture_compile(&fixture, SLOT_1);
    assert_true(partition_has_transfers(first));
    for (int round = 0; round < 20; round++) {
        Slots slots = {0};
        RunOutcome outcomes[2] = {0};
        Tensor arg = fixture_vector(&fixture, 3, 5);
        slots_begin(&slots);
        Run *late = NULL;
        Run *early = round % 2 == 0 ? start(&fixture, second, slots.rendezvous[1], NULL, &outcomes[1]) : NULL;
        run_unref(start(&fixture, first, slots.rendezvous[0], &arg, &outcomes[0]));
        if (early == NULL) {
            late = start(&fixture, second, slots.rendezvous[1], NULL, &outcomes[1]);
        }
        outcome_wait(&outcomes[0]);
        outcome_wait(&outcomes[1]);
        assert_string_equal(outcomes[0].message, "");
        assert_string_equal(outcomes[1].message, "");
        assert_float_equal(tensor_float(&outcomes[0].outputs[0], 2), -5, 0);
        run_unref(early);
        run_unref(late);
        outcome_clear(&outcomes[0]);
        slots_end(&slots);
    }
    partition_unref(TAKE(first));
    partition_unref(TAKE(second));
    fixture_end(&fixture);
}

/* Delivers `size` numbers and fails unless the run's memory is as planned: the tensor that comes, and the
 * sum, which Neg takes over. */
static void
assert_received_as_planned(RunFixture *fixture, Partition *partition, int64_t size, int64_t open_size)
{
    Slots slots = {0};
    RunOutcome outcome = {0};
    slots_begin(&slots);
    Tensor value = fixture_vector(fixture, size, 1);
    assert_status(&fixture->call, STATUS_OK,
        rendezvous_deliver(&fixture->call, slots.rendezvous[1], SLICE(KEY_1), &value, false));
    RunRequest request = {.partition = partition,
        .rendezvous = slots.rendezvous[1],
        .open_size = open_size,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
    outcome_wait(&outcome);
    assert_string_equal(outcome.message, "");
    assert_true(outcome.stats.is_plan_exact);
    assert_int_equal(outcome.stats.planned_bytes, outcome.stats.peak_bytes);
    assert_in_range(
        outcome.stats.peak_bytes, (uint64_t)size * sizeof(float), 2 * (uint64_t)size * sizeof(float) + 64);
    outcome_clear(&outcome);
    slots_end(&slots);
}

#define DOUBLED                                                                                              \
    "b = Add(a, a) T=float32\n"                                                                              \
    "c = Neg(b) T=float32\n"                                                                                 \
    "out = _Retval(c) T=float32 index=0\n"

static void
what_comes_is_planned_by_its_shape_and_counted_while_it_lives(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "a = _Recv() tensor_type=float32 shape=<10240>" TO_SLOT_1 DOUBLED);
    assert_received_as_planned(&fixture, partition, 10240, 0);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* The receive has three numbers, and two more for each row of the batch. */
static void
what_grows_with_the_batch_is_planned_for_each_size_of_it(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "a = _Recv() tensor_type=float32 shape=<-1> grows=[2,3]" TO_SLOT_1 DOUBLED);
    for (int64_t batch = 5000; batch <= 20000; batch *= 2) {
        assert_received_as_planned(&fixture, partition, 2 * batch + 3, batch);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
deadness_crosses_slots(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION sender = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                      "no = Const() dtype=bool value=bool(0)\n"
                                                      "s = Switch(x, no) T=float32\n"
                                                      "a = Neg(s:1) T=float32\n"
                                                      "send = _Send(a) T=float32" TO_SLOT_1);
    AUTO_PARTITION receiver =
        fixture_compile(&fixture, "a = _Recv() tensor_type=float32" TO_SLOT_1 "b = Neg(a) T=float32\n"
                                  "out = _Retval(b) T=float32 index=0\n"
                                  "c = NoOp(^a)\n"
                                  "one = Const(^c) dtype=float32 value=float32(1)\n"
                                  "too = _Retval(one) T=float32 index=1\n");
    Slots slots = {0};
    RunOutcome outcomes[2] = {0};
    Tensor arg = fixture_vector(&fixture, 3, 5);
    slots_begin(&slots);
    run_unref(start(&fixture, sender, slots.rendezvous[0], &arg, &outcomes[0]));
    run_unref(start(&fixture, receiver, slots.rendezvous[1], NULL, &outcomes[1]));
    outcome_wait(&outcomes[0]);
    outcome_wait(&outcomes[1]);
    assert_int_equal(outcomes[1].code, STATUS_OK);
    assert_true(outcomes[1].is_dead[0]);
    assert_true(outcomes[1].is_dead[1]);
    slots_end(&slots);
    partition_unref(TAKE(sender));
    partition_unref(TAKE(receiver));
    fixture_end(&fixture);
}

static void
a_failure_stops_what_waits_on_the_same_slot(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                  "two = Const() dtype=float32 value=float32<2>(1)\n"
                                  "wrong = Add(x, two) T=float32\n"
                                  "out = _Retval(wrong) T=float32 index=0\n"
                                  "a = _Recv() tensor_type=float32" TO_SLOT_1 "b = Add(a, x) T=float32\n"
                                  "too = _Retval(b) T=float32 index=1\n");
    for (int round = 0; round < 5; round++) {
        Slots slots = {0};
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(&fixture, 3, 5);
        slots_begin(&slots);
        run_unref(start(&fixture, partition, slots.rendezvous[1], &arg, &outcome));
        outcome_wait(&outcome);
        assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
        assert_string_equal(outcome.node, "wrong");
        assert_int_equal(fixture_memory_in_use(&fixture), 0);

        Tensor late = fixture_vector(&fixture, 1, 1);
        assert_status(&fixture.call, STATUS_ABORTED,
            rendezvous_deliver(&fixture.call, slots.rendezvous[1], SLICE(KEY_1), &late, false));
        assert_non_null(strstr(fixture.call.error.message, "node 'wrong' failed: "));
        tensor_unref(&late);
        slots_end(&slots);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_waiting_run_can_be_cancelled(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, SLOT_0);
    Slots slots = {0};
    RunOutcome outcome = {0};
    Tensor arg = fixture_vector(&fixture, 3, 5);
    slots_begin(&slots);
    Run *run = start(&fixture, partition, slots.rendezvous[0], &arg, &outcome);
    run_cancel(run, STATUS_CANCELLED, "the client went away");
    run_cancel(run, STATUS_INTERNAL, "too late");
    outcome_wait(&outcome);
    run_cancel(run, STATUS_INTERNAL, "much too late");
    assert_int_equal(outcome.done_count, 1);
    assert_int_equal(outcome.code, STATUS_CANCELLED);
    assert_string_equal(outcome.message, "the client went away");
    run_unref(run);
    slots_end(&slots);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
the_deadline_report_names_who_waits_for_what(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, SLOT_1);
    Slots slots = {0};
    RunOutcome outcome = {0};
    slots_begin(&slots);
    /* The partition's second run is known to be cheap and is run on this thread: it waits before
     * run_start() returns. */
    for (int round = 0; round < 2; round++) {
        outcome_clear(&outcome);
        Run *run = start(&fixture, partition, slots.rendezvous[1], NULL, &outcome);
        if (round == 0) {
            Tensor tensor = fixture_vector(&fixture, 1, 1);
            assert_status(&fixture.call, STATUS_OK,
                rendezvous_deliver(&fixture.call, slots.rendezvous[1], SLICE(KEY_1), &tensor, false));
        } else {
            run_cancel(run, STATUS_DEADLINE_EXCEEDED, "the step's deadline of 50 ms has passed");
        }
        outcome_wait(&outcome);
        run_unref(run);
    }
    assert_int_equal(outcome.code, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(
        outcome.message, "the step's deadline of 50 ms has passed; waiting: 'a' for '" KEY_1 "'");
    outcome_clear(&outcome);
    slots_end(&slots);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_run_past_its_deadline_stops_between_nodes(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "y = Neg(x) T=float32\n"
                                                         "out = _Retval(y) T=float32 index=0\n");
    RunOutcome outcome = {0};
    Tensor arg = fixture_vector(&fixture, 3, 5);
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .deadline_ns = clock_monotonic_ns() - 1,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(outcome.message, "the step's deadline has passed");
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_received_tensor_of_another_type_is_refused(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, SLOT_1);
    Slots slots = {0};
    RunOutcome outcome = {0};
    slots_begin(&slots);
    Tensor tensor = fixture_vector(&fixture, 1, 1);
    tensor.dtype = DTYPE_INT32;
    assert_status(&fixture.call, STATUS_OK,
        rendezvous_deliver(&fixture.call, slots.rendezvous[1], SLICE(KEY_1), &tensor, false));
    run_unref(start(&fixture, partition, slots.rendezvous[1], NULL, &outcome));
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, STATUS_INTERNAL);
    assert_string_equal(outcome.message, "a tensor of type int32 came instead of float32");
    assert_string_equal(outcome.node, "a");
    slots_end(&slots);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
transfers_need_a_rendezvous(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, SLOT_1);
    RunRequest request = {.partition = partition};
    assert_status(&fixture.call, STATUS_INVALID_ARGUMENT, run_start(&fixture.call, &request, NULL));
    assert_string_equal(fixture.call.error.message, "a partition with transfers needs a rendezvous to run");
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_slots_exchange_tensors_in_either_order_of_start),
        cmocka_unit_test(what_comes_is_planned_by_its_shape_and_counted_while_it_lives),
        cmocka_unit_test(what_grows_with_the_batch_is_planned_for_each_size_of_it),
        cmocka_unit_test(deadness_crosses_slots),
        cmocka_unit_test(a_failure_stops_what_waits_on_the_same_slot),
        cmocka_unit_test(a_waiting_run_can_be_cancelled),
        cmocka_unit_test(the_deadline_report_names_who_waits_for_what),
        cmocka_unit_test(a_run_past_its_deadline_stops_between_nodes),
        cmocka_unit_test(a_received_tensor_of_another_type_is_refused),
        cmocka_unit_test(transfers_need_a_rendezvous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
