/* Parts of graphs that the accelerator captures: that results have the same bits in each turn of a part, that
 * what cannot be captured runs plainly, and that memory is bounded. */
#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include "shared/base/memory.h"
#include "tests/support/await.h"
#include "tests/support/captured_networks.h"
#include "tests/support/partition_runs.h"

static const char CHAIN[] = "x = _Arg() T=float32 index=0\n"
                            "k = Const() dtype=float32 value=float32(3)\n"
                            "a = Neg(x) T=float32\n"
                            "to = Const() dtype=int32 value=int32<2>(1;-1)\n"
                            "r = Reshape(a, to) T=float32 Tshape=int32\n"
                            "b = Mul(r, k) T=float32\n"
                            "s = Shape(b) T=float32 out_type=int32\n"
                            "z = Fill(s, k) T=float32 index_type=int32\n"
                            "c = Add(b, z) T=float32\n"
                            "d = Square(c) T=float32\n"
                            "out = _Retval(d) T=float32 index=0\n"
                            "early = _Retval(b) T=float32 index=1\n";

static uint64_t
captured_count(const RunFixture *fixture)
{
    return atomic_load_relaxed(&fixture->accelerator->counts.captured);
}

static uint64_t
replayed_count(const RunFixture *fixture)
{
    return atomic_load_relaxed(&fixture->accelerator->counts.replayed);
}

static uint64_t
refused_count(const RunFixture *fixture, CaptureRefusal reason)
{
    return atomic_load_relaxed(&fixture->accelerator->counts.uncaptured[reason]);
}

static uint64_t
bytes_on(const RunFixture *fixture)
{
    DeviceMemory memory = {0};
    fixture->accelerator->memory(fixture->accelerator, &memory);
    return memory.in_use;
}

static void
run_chain(RunFixture *fixture, Partition *partition, int64_t size, float x)
{
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_vector(fixture, size, x)};
    fixture_run(fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_int_equal(tensor_element_count(&outcome.outputs[0]), size);
    assert_float_equal(tensor_float(&outcome.outputs[0], size - 1), (3 - 3 * x) * (3 - 3 * x), 0);
    assert_float_equal(tensor_float(&outcome.outputs[1], 0), -3 * x, 0);
    assert_int_equal(outcome.stats.node_count, 13);
    outcome_clear(&outcome);
}

static void
a_part_is_captured_in_its_third_run_and_replayed_from_then_on(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 8; round++) {
        run_chain(&fixture, partition, 5, (float)round);
        assert_int_equal(captured_count(&fixture), round < 2 ? 0 : 1);
        assert_int_equal(replayed_count(&fixture), round < 3 ? 0 : round - 2);
    }
    assert_int_equal(atomic_load_relaxed(&fixture.accelerator->counts.kernels), 8 * 5);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
each_shape_is_captured_on_its_own(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 6; round++) {
        for (int64_t size = 1; size <= FIXTURE_GRAPHS_MAX; size++) {
            run_chain(&fixture, partition, size * 300, (float)round);
        }
    }
    assert_int_equal(captured_count(&fixture), FIXTURE_GRAPHS_MAX);
    assert_int_equal(replayed_count(&fixture), 3 * FIXTURE_GRAPHS_MAX);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
captured_parts_make_room_for_others_and_leak_nothing(void **state)
{
    (void)state;
    enum { STEPS = 2000, SHAPES = FIXTURE_GRAPHS_MAX + 2, STAY = 50 };
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    uint64_t most = 0;
    for (int step = 0; step < STEPS; step++) {
        run_chain(&fixture, partition, (step / STAY % SHAPES + 1) * 100, (float)(step % 17));
        most = step < STEPS / 2 && bytes_on(&fixture) > most ? bytes_on(&fixture) : most;
    }
    AWAIT(bytes_on(&fixture) <= most);
    assert_true(captured_count(&fixture) > FIXTURE_GRAPHS_MAX);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
more_shapes_in_use_than_may_be_captured_displace_none(void **state)
{
    (void)state;
    enum { STEPS = 2000, SHAPES = FIXTURE_GRAPHS_MAX + 2, ROUND = 5 * SHAPES };
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int step = 0; step < STEPS; step++) {
        run_chain(&fixture, partition, (step % ROUND / 5 + 1) * 100, (float)(step % 17));
    }
    assert_int_equal(captured_count(&fixture), FIXTURE_GRAPHS_MAX);
    assert_true(replayed_count(&fixture) > STEPS * FIXTURE_GRAPHS_MAX / SHAPES - STEPS / 10);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_shape_that_is_used_far_more_displaces_the_least_used(void **state)
{
    (void)state;
    enum { HOT = 1000 };
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 3; round++) {
        for (int64_t size = 1; size <= FIXTURE_GRAPHS_MAX; size++) {
            run_chain(&fixture, partition, size * 100, (float)round);
            run_chain(&fixture, partition, size * 100, 1 + (float)size);
        }
    }
    run_chain(&fixture, partition, 100, 2);
    for (int round = 0; round < 20; round++) {
        run_chain(&fixture, partition, HOT, (float)round);
    }
    assert_int_equal(captured_count(&fixture), FIXTURE_GRAPHS_MAX + 1);
    uint64_t replayed = replayed_count(&fixture);
    run_chain(&fixture, partition, HOT, 1);
    run_chain(&fixture, partition, 100, 1);
    assert_int_equal(replayed_count(&fixture) - replayed, 2);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_capture_that_found_no_memory_is_tried_again(void **state)
{
    (void)state;
    enum { SIZE = 50000 };
    RunFixture fixture;
    TestDeviceOptions options = {.memory = 3 << 20};
    fixture_begin_capturing(&fixture, 2, &options);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    run_chain(&fixture, partition, SIZE, 1);
    TensorBuffer *taken = fixture.accelerator->allocate(fixture.accelerator, (3 << 20) - (1200 << 10));
    assert_non_null(taken);
    for (int round = 0; round < 3 + CAPTURE_REST_MIN; round++) {
        run_chain(&fixture, partition, SIZE, (float)round);
    }
    assert_int_equal(refused_count(&fixture, CAPTURE_LACKS_MEMORY), 2);
    tensor_buffer_unref(taken);
    for (int round = 0; round < 2 * CAPTURE_REST_MIN - 2; round++) {
        run_chain(&fixture, partition, SIZE, (float)round);
    }
    assert_int_equal(captured_count(&fixture), 0);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, SIZE, (float)round);
    }
    assert_int_equal(captured_count(&fixture), 1);
    assert_int_equal(refused_count(&fixture, CAPTURE_LACKS_MEMORY), 2);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
shapes_that_come_once_take_no_captured_parts_away(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 3; round++) {
        run_chain(&fixture, partition, 1, (float)round);
    }
    for (int64_t size = 2; size < 20 * FIXTURE_GRAPHS_MAX; size++) {
        run_chain(&fixture, partition, size, 1);
    }
    run_chain(&fixture, partition, 1, 2);
    assert_int_equal(captured_count(&fixture), 1);
    assert_int_equal(replayed_count(&fixture), 1);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
what_the_device_cannot_capture_runs_plainly(void **state)
{
    (void)state;
    RunFixture fixture;
    TestDeviceOptions options = {.captures_nothing = true};
    fixture_begin_capturing(&fixture, 2, &options);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 6; round++) {
        run_chain(&fixture, partition, 7, (float)round);
    }
    assert_int_equal(captured_count(&fixture), 0);
    assert_int_equal(refused_count(&fixture, CAPTURE_DEVICE_REFUSES), 1);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_wrong_value_in_a_replay_fails_its_node(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "i = Cast(x) SrcT=float32 DstT=int32\n"
                                                         "k = Const() dtype=float32 value=float32<3>(1;2;3)\n"
                                                         "axis = Const() dtype=int32 value=int32(0)\n"
                                                         "n = Neg(k) T=float32\n"
                                                         "y = GatherV2(n, i, axis) Tparams=float32 "
                                                         "Tindices=int32 Taxis=int32\n"
                                                         "z = Square(y) T=float32\n"
                                                         "out = _Retval(z) T=float32 index=0\n");
    for (int round = 0; round < 6; round++) {
        RunOutcome outcome = {0};
        Tensor args[1] = {fixture_vector(&fixture, 4, round == 4 ? 3 : 2)};
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        if (round == 4) {
            assert_string_equal(outcome.message, "index 3 at 0 is not within 3");
            assert_string_equal(outcome.node, "y");
        } else {
            assert_string_equal(outcome.message, "");
            assert_float_equal(tensor_float(&outcome.outputs[0], 3), 9, 0);
        }
        outcome_clear(&outcome);
    }
    assert_int_equal(captured_count(&fixture), 1);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static const char BRANCHES[] = "x = _Arg() T=float32 index=0\n"
                               "p = _Arg() T=bool index=1\n"
                               "w = Neg(x) T=float32\n"
                               "sw = Switch(w, p) T=float32\n"
                               "a = Square(sw) T=float32\n"
                               "a2 = Neg(a) T=float32\n"
                               "b = Neg(sw:1) T=float32\n"
                               "b2 = Add(b, b) T=float32\n"
                               "m = Merge(a2, b2) N=2 T=float32\n"
                               "y = Add(m, w) T=float32\n"
                               "z = Square(y) T=float32\n"
                               "out = _Retval(z) T=float32 index=0\n";

static void
branches_are_captured_apart(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, BRANCHES);
    for (int round = 0; round < 12; round++) {
        RunOutcome outcome = {0};
        bool is_taken = round % 2 == 0;
        Tensor args[2] = {fixture_vector(&fixture, 4, 3), {0}};
        Shape scalar = shape_scalar();
        assert_true(tensor_new(DTYPE_BOOL, &scalar, &args[1]));
        *(uint8_t *)args[1].data = is_taken;
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 3), is_taken ? 9 : 144, 0);
        outcome_clear(&outcome);
    }
    assert_int_equal(captured_count(&fixture), 4);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static const char LOOP[] = "x = _Arg() T=float32 index=0\n"
                           "zero = Const() dtype=int32 value=int32(0)\n"
                           "i_enter = Enter(zero) T=int32 frame_name='loop'\n"
                           "x_enter = Enter(x) T=float32 frame_name='loop'\n"
                           "i_merge = Merge(i_enter, i_next) N=2 T=int32\n"
                           "x_merge = Merge(x_enter, x_next) N=2 T=float32\n"
                           "five = Const(^i_merge) dtype=int32 value=int32(5)\n"
                           "less = Less(i_merge, five) T=int32\n"
                           "cond = LoopCond(less)\n"
                           "i_switch = Switch(i_merge, cond) T=int32\n"
                           "x_switch = Switch(x_merge, cond) T=float32\n"
                           "i_body = Identity(i_switch:1) T=int32\n"
                           "x_body = Identity(x_switch:1) T=float32\n"
                           "one = Const(^i_body) dtype=int32 value=int32(1)\n"
                           "i_add = Add(i_body, one) T=int32\n"
                           "x_neg = Neg(x_body) T=float32\n"
                           "x_add = Sub(x_body, x_neg) T=float32\n"
                           "i_next = NextIteration(i_add) T=int32\n"
                           "x_next = NextIteration(x_add) T=float32\n"
                           "x_exit = Exit(x_switch) T=float32\n"
                           "out = _Retval(x_exit) T=float32 index=0\n";

static void
the_body_of_a_loop_is_replayed_by_its_iterations(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, LOOP);
    for (int round = 0; round < 3; round++) {
        RunOutcome outcome = {0};
        Tensor args[1] = {fixture_vector(&fixture, 3, 1)};
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 2), 32, 0);
        outcome_clear(&outcome);
    }
    assert_int_equal(captured_count(&fixture), 1);
    assert_int_equal(replayed_count(&fixture), 3 * 5 - 3);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* What needs the first feed alone must not wait for the second. */
static void
a_part_waits_for_no_feed_that_comes_late(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 1, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "y = _Arg() T=float32 index=1\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "a2 = Square(a) T=float32\n"
                                                         "b = Mul(a2, y) T=float32\n"
                                                         "b2 = Neg(b) T=float32\n"
                                                         "out0 = _Retval(a2) T=float32 index=0\n"
                                                         "out1 = _Retval(b2) T=float32 index=1\n");
    for (int round = 0; round < 5; round++) {
        RunOutcome outcome = {0};
        Run *run = NULL;
        Tensor args[2] = {fixture_vector(&fixture, 2, 3), {0}};
        RunRequest request = {.partition = partition,
            .args = args,
            .arg_count = 2,
            .feeds_come_late = true,
            .callbacks = outcome_callbacks(&outcome)};
        assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, &run));
        AWAIT(atomic_load_acquire(&outcome.output_count) == 1);
        Tensor late = fixture_vector(&fixture, 2, 5);
        assert_status(&fixture.call, STATUS_OK, run_feed(&fixture.call, run, 1, &late));
        outcome_wait(&outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[1], 1), -45, 0);
        outcome_clear(&outcome);
        run_unref(run);
    }
    assert_int_equal(captured_count(&fixture), 2);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
runs_at_the_same_time_share_a_captured_part(void **state)
{
    (void)state;
    enum { RUNS = 16, ROUNDS = 10 };
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 4, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < ROUNDS; round++) {
        RunOutcome outcomes[RUNS] = {0};
        for (int i = 0; i < RUNS; i++) {
            Tensor args[1] = {fixture_vector(&fixture, 2000, (float)i)};
            RunRequest request = {.partition = partition,
                .args = args,
                .arg_count = 1,
                .callbacks = outcome_callbacks(&outcomes[i])};
            assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
        }
        for (int i = 0; i < RUNS; i++) {
            outcome_wait(&outcomes[i]);
            float wanted = (3 - 3 * (float)i) * (3 - 3 * (float)i);
            assert_string_equal(outcomes[i].message, "");
            assert_float_equal(tensor_float(&outcomes[i].outputs[0], 0), wanted, 0);
            assert_float_equal(tensor_float(&outcomes[i].outputs[0], 1999), wanted, 0);
            outcome_clear(&outcomes[i]);
        }
    }
    assert_int_equal(captured_count(&fixture), 1);
    assert_true(replayed_count(&fixture) > RUNS);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* A device so small that a step finds no room beside captured parts. */
static void
captured_parts_give_way_to_steps(void **state)
{
    (void)state;
    enum { LARGE = 150000 };
    RunFixture fixture;
    TestDeviceOptions options = {.memory = 3 << 20};
    fixture_begin_capturing(&fixture, 2, &options);
    AUTO_PARTITION partition = fixture_compile(&fixture, CHAIN);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, 50000, (float)round);
    }
    assert_int_equal(captured_count(&fixture), 1);
    uint64_t kept = bytes_on(&fixture);
    assert_true(kept > 0);
    run_chain(&fixture, partition, LARGE, 2);
    AWAIT(bytes_on(&fixture) < kept);
    for (int round = 0; round < 4; round++) {
        run_chain(&fixture, partition, LARGE, (float)round);
    }
    assert_int_equal(refused_count(&fixture, CAPTURE_LACKS_MEMORY), 1);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_device_that_breaks_fails_its_runs(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, LOOP);
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_vector(&fixture, 3, 1)};
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    outcome_clear(&outcome);
    test_device_break(fixture.accelerator, "it was unplugged");
    Tensor again[1] = {fixture_vector(&fixture, 3, 1)};
    RunRequest request = {
        .partition = partition, .args = again, .arg_count = 1, .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture.call, STATUS_UNAVAILABLE, run_start(&fixture.call, &request, NULL));
    tensor_unref(&again[0]);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
random_networks_have_the_same_bits_captured(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 3, NULL);
    captured_networks_compare(&fixture, 1, 40);
    fixture_end(&fixture);
}

static void
training_has_the_same_bits_captured(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 3, NULL);
    captured_training_compare(&fixture);
    fixture_end(&fixture);
}

/* A shape that another part has told is passed on by this one, which replays nothing for another shape. */
static void
shapes_of_other_parts_are_told_apart(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "y = _Arg() T=float32 index=1\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "b = Neg(y) T=float32\n"
                                                         "s = Shape(a) T=float32 out_type=int32\n"
                                                         "i = Identity(s, ^b) T=int32\n"
                                                         "r = Reshape(b, i) T=float32 Tshape=int32\n"
                                                         "z = Square(r) T=float32\n"
                                                         "out = _Retval(z) T=float32 index=0\n"
                                                         "told = _Retval(i) T=int32 index=1\n");
    for (int round = 0; round < 10; round++) {
        RunOutcome outcome = {0};
        int64_t rows = round % 2 == 0 ? 2 : 3;
        Shape shape = {.rank = 2, .dims = {rows, 6 / rows}};
        Tensor args[2] = {fixture_numbers(&fixture, &shape, round), fixture_vector(&fixture, 6, 3)};
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(outcome.outputs[0].shape.rank, 2);
        assert_int_equal(outcome.outputs[0].shape.dims[0], rows);
        assert_int_equal(((const int32_t *)outcome.outputs[1].data)[0], rows);
        outcome_clear(&outcome);
    }
    assert_true(replayed_count(&fixture) > 0);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* What a node passes on beside what lies on the device is another in each run. */
static void
values_fed_to_the_host_are_not_captured(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "n = _Arg() T=int32 index=1\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "p = IdentityN(a, n) T=[float32,int32]\n"
                                                         "b = Square(p) T=float32\n"
                                                         "c = Add(b, b) T=float32\n"
                                                         "out = _Retval(c) T=float32 index=0\n"
                                                         "same = _Retval(p:1) T=int32 index=1\n");
    for (int round = 0; round < 6; round++) {
        RunOutcome outcome = {0};
        Tensor args[2] = {fixture_vector(&fixture, 4, 3), {0}};
        Shape scalar = shape_scalar();
        assert_true(tensor_new(DTYPE_INT32, &scalar, &args[1]));
        *(int32_t *)args[1].data = round;
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(*(const int32_t *)outcome.outputs[1].data, round);
        outcome_clear(&outcome);
    }
    assert_true(captured_count(&fixture) > 0);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* What is captured holds no memory of the host that was planned for the run that captured it. */
static void
captured_parts_hold_no_memory_of_a_run(void **state)
{
    (void)state;
    enum { LARGE = 1 << 20 };
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                  "h = Cast(x) SrcT=float32 DstT=float64 @/device:CPU:0\n"
                                  "h1 = Square(h) T=float64 @/device:CPU:0\n"
                                  "h2 = Tanh(h1) T=float64 @/device:CPU:0\n"
                                  "a = Neg(x) T=float32\n"
                                  "b = Square(a) T=float32\n"
                                  "s = Shape(b) T=float32 out_type=int32\n"
                                  "out = _Retval(b) T=float32 index=0\n"
                                  "f = Cast(s) SrcT=int32 DstT=float64 @/device:CPU:0\n"
                                  "told = _Retval(f) T=float64 index=1\n"
                                  "host = _Retval(h2) T=float64 index=2\n");
    uint64_t before = fixture_memory_in_use(&fixture);
    for (int round = 0; round < 6; round++) {
        RunOutcome outcome = {0};
        Tensor args[1] = {fixture_vector(&fixture, LARGE, 3)};
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(*(const double *)outcome.outputs[1].data, LARGE, 0);
        outcome_clear(&outcome);
    }
    assert_true(captured_count(&fixture) > 0);
    AWAIT(fixture_memory_in_use(&fixture) - bytes_on(&fixture) <= before);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_captured_in_its_third_run_and_replayed_from_then_on),
        cmocka_unit_test(each_shape_is_captured_on_its_own),
        cmocka_unit_test(captured_parts_make_room_for_others_and_leak_nothing),
        cmocka_unit_test(more_shapes_in_use_than_may_be_captured_displace_none),
        cmocka_unit_test(a_shape_that_is_used_far_more_displaces_the_least_used),
        cmocka_unit_test(a_capture_that_found_no_memory_is_tried_again),
        cmocka_unit_test(shapes_that_come_once_take_no_captured_parts_away),
        cmocka_unit_test(what_the_device_cannot_capture_runs_plainly),
        cmocka_unit_test(a_wrong_value_in_a_replay_fails_its_node),
        cmocka_unit_test(branches_are_captured_apart),
        cmocka_unit_test(the_body_of_a_loop_is_replayed_by_its_iterations),
        cmocka_unit_test(a_part_waits_for_no_feed_that_comes_late),
        cmocka_unit_test(runs_at_the_same_time_share_a_captured_part),
        cmocka_unit_test(captured_parts_give_way_to_steps),
        cmocka_unit_test(a_device_that_breaks_fails_its_runs),
        cmocka_unit_test(shapes_of_other_parts_are_told_apart),
        cmocka_unit_test(values_fed_to_the_host_are_not_captured),
        cmocka_unit_test(captured_parts_hold_no_memory_of_a_run),
        cmocka_unit_test(random_networks_have_the_same_bits_captured),
        cmocka_unit_test(training_has_the_same_bits_captured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
