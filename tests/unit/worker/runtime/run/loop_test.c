#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <time.h>

#include "shared/base/buffer.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/partition_runs.h"
#include "worker/runtime/partition/schedule.h"

static Tensor
integer(RunFixture *fixture, int32_t value)
{
    TensorBuffer *buffer = fixture->device->allocate(fixture->device, sizeof value);
    assert_non_null(buffer);
    *(int32_t *)buffer->data = value;
    return (Tensor){.dtype = DTYPE_INT32, .shape = shape_scalar(), .data = buffer->data, .buffer = buffer};
}

static int64_t
tensor_int(const Tensor *tensor)
{
    int64_t value = 0;
    assert_true(tensor_to_int64(tensor, 0, &value));
    return value;
}

/* The feeds n, then x. */
#define FEEDS                                                                                                \
    "n = _Arg() T=int32 index=0\nx = _Arg() T=float32 index=1\nzero = Const() dtype=int32 value=int32(0)\n"
#define FETCHES "o0 = _Retval(i_exit) T=int32 index=0\no1 = _Retval(v_exit) T=float32 index=1\n"

/* x + n · 2, one addition after another; `two` is a loop invariant. */
#define ADDING(ATTRS)                                                                                        \
    FEEDS LOOP_COUNTER("i", "loop", "zero", "n", ATTRS) LOOP_VARIABLE("v", "i", "loop", "x",                 \
        ATTRS) "c = Const() dtype=float32 value=float32(2)\n"                                                \
               "two = Enter(c) T=float32 frame_name='loop' is_constant=true " ATTRS "\n"                     \
               "v_new = Add(v_body, two) T=float32\n" FETCHES

static void
run_loop(RunFixture *fixture, Partition *partition, int32_t n, float x, RunOutcome *outcome)
{
    Tensor args[] = {integer(fixture, n), fixture_vector(fixture, 3, x)};
    fixture_run(fixture, partition, NULL, args, 2, outcome);
}

static void
a_loop_counts_and_carries_a_value(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, ADDING("parallel_iterations=10"));
    for (int32_t n = 0; n < 40; n++) {
        RunOutcome outcome = {0};
        run_loop(&fixture, partition, n, 0.5F, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(tensor_int(&outcome.outputs[0]), n);
        assert_float_equal(tensor_float(&outcome.outputs[1], 2), 0.5F + 2 * (float)n, 0);
        outcome_clear(&outcome);
        assert_int_equal(fixture_memory_in_use(&fixture), 0);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_loop_that_turns_no_time_lets_its_values_out(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, ADDING(""));
    RunOutcome outcome = {0};
    run_loop(&fixture, partition, -5, 7, &outcome);
    assert_string_equal(outcome.message, "");
    assert_int_equal(tensor_int(&outcome.outputs[0]), 0);
    assert_float_equal(tensor_float(&outcome.outputs[1], 0), 7, 0);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* v ← exp(-v) · 1.1 + 0.3: another order or number of turns shows in the bits. Wide enough to change
 * threads. */
static const char *const CHAOTIC =
    FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "parallel_iterations=%d") LOOP_VARIABLE("v", "i", "loop",
        "x", "parallel_iterations=%d") "a = Const(^v_body) dtype=float32 value=float32(1.1)\n"
                                       "b = Const(^v_body) dtype=float32 value=float32(0.3)\n"
                                       "neg = Neg(v_body) T=float32\n"
                                       "exp = Exp(neg) T=float32\n"
                                       "mul = Mul(exp, a) T=float32\n"
                                       "v_new = Add(mul, b) T=float32\n" FETCHES;

static Partition *
compile_with(RunFixture *fixture, const char *format, int parallel)
{
    AUTO_BUFFER text = {0};
    Slice rest = slice_from_string(format);
    while (rest.size > 0) {
        size_t at = slice_find(rest, '%');
        buffer_append_slice(&text, slice_part(rest, 0, at));
        if (at < rest.size) {
            buffer_append_format(&text, "%d", parallel);
        }
        rest = slice_part(rest, at + 2, SIZE_MAX);
    }
    /* The graph refers to its text as long as it runs. */
    const char *kept = text_copy(fixture->call.arena, buffer_slice(&text));
    assert_non_null(kept);
    return fixture_compile(fixture, kept);
}

static void
any_number_of_parallel_iterations_and_threads_gives_the_same_bits(void **state)
{
    (void)state;
    static const int parallel[] = {1, 2, 10, 32};
    AUTO_TENSOR expected = {0};
    for (size_t i = 0; i < COUNT_OF(parallel); i++) {
        for (int threads = 1; threads <= 4; threads += 3) {
            RunFixture fixture;
            fixture_begin(&fixture, threads);
            AUTO_PARTITION partition = compile_with(&fixture, CHAOTIC, parallel[i]);
            RunOutcome outcome = {0};
            Tensor args[] = {integer(&fixture, 50), fixture_vector(&fixture, 5000, 0.25F)};
            fixture_run(&fixture, partition, NULL, args, 2, &outcome);
            assert_string_equal(outcome.message, "");
            if (expected.buffer == NULL) {
                assert_true(tensor_new(DTYPE_FLOAT32, &outcome.outputs[1].shape, &expected));
                memcpy(expected.data, outcome.outputs[1].data, tensor_byte_size(&expected));
            }
            assert_true(tensor_equal(&outcome.outputs[1], &expected));
            outcome_clear(&outcome);
            partition_unref(TAKE(partition));
            fixture_end(&fixture);
        }
    }
}

/* for i in 0…n: for j in 0…i: v += 1 */
static const char *const NESTED =
    FEEDS LOOP_COUNTER("i", "outer", "zero", "n", "parallel_iterations=%d") LOOP_VARIABLE("v", "i", "outer",
        "x", "parallel_iterations=%d") "start = Const(^i_body) dtype=int32 value=int32(0)\n" LOOP_COUNTER("j",
        "inner", "start", "i_body", "parallel_iterations=%d") LOOP_VARIABLE("w", "j", "inner", "v_body",
        "parallel_iterations=%d") "one = Const(^w_body) dtype=float32 value=float32(1)\n"
                                  "w_new = Add(w_body, one) T=float32\n"
                                  "v_new = Identity(w_exit) T=float32\n" FETCHES;

static void
loops_nest(void **state)
{
    (void)state;
    static const int parallel[] = {1, 2, 10, 32};
    for (size_t i = 0; i < COUNT_OF(parallel); i++) {
        RunFixture fixture;
        fixture_begin(&fixture, 2);
        AUTO_PARTITION partition = compile_with(&fixture, NESTED, parallel[i]);
        for (int32_t n = 0; n < 12; n++) {
            RunOutcome outcome = {0};
            run_loop(&fixture, partition, n, 0, &outcome);
            assert_string_equal(outcome.message, "");
            assert_int_equal(tensor_int(&outcome.outputs[0]), n);
            assert_float_equal(tensor_float(&outcome.outputs[1], 0), (float)n * (float)(n - 1) / 2, 0);
            outcome_clear(&outcome);
            assert_int_equal(fixture_memory_in_use(&fixture), 0);
        }
        partition_unref(TAKE(partition));
        fixture_end(&fixture);
    }
}

/* v += 1 in even turns, v *= 2 in odd ones: 1 2 3 6 7 14 … */
static const char *const CONDITIONAL = FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "")
    LOOP_VARIABLE("v", "i", "loop", "x", "") "two = Const(^i_body) dtype=int32 value=int32(2)\n"
                                             "nil = Const(^i_body) dtype=int32 value=int32(0)\n"
                                             "rest = FloorMod(i_body, two) T=int32\n"
                                             "even = Equal(rest, nil) T=int32\n"
                                             "s = Switch(v_body, even) T=float32\n"
                                             "pivot = Identity(s:1) T=float32\n"
                                             "one = Const(^pivot) dtype=float32 value=float32(1)\n"
                                             "plus = Add(s:1, one) T=float32\n"
                                             "twice = Add(s, s) T=float32\n"
                                             "v_new = Merge(twice, plus) T=float32 N=2\n" FETCHES;

static void
each_turn_takes_its_own_branch(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, CONDITIONAL);
    float expected = 0;
    for (int32_t n = 0; n < 12; n++) {
        RunOutcome outcome = {0};
        run_loop(&fixture, partition, n, 0, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[1], 1), expected, 0);
        outcome_clear(&outcome);
        expected = n % 2 == 0 ? expected + 1 : expected * 2;
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* The loop stands in a branch: n is dead unless `p`. */
static const char *const IN_BRANCH =
    "n = _Arg() T=int32 index=0\nx = _Arg() T=float32 index=1\np = _Arg() T=bool index=2\n"
    "ns = Switch(n, p) T=int32\nxs = Switch(x, p) T=float32\n"
    "pivot = Identity(ns:1) T=int32\nstart = Const(^pivot) dtype=int32 value=int32(0)\n" LOOP_COUNTER(
        "i", "loop", "start", "ns:1", "parallel_iterations=3") LOOP_VARIABLE("v", "i", "loop", "xs:1",
        "parallel_iterations=3") "v_new = Add(v_body, v_body) T=float32\n"
                                 "neg = Neg(xs) T=float32\n"
                                 "m = Merge(neg, v_exit) T=float32 N=2\n"
                                 "o0 = _Retval(i_exit) T=int32 index=0\n"
                                 "o1 = _Retval(m) T=float32 index=1\n"
                                 "o2 = _Retval(m:1) T=int32 index=2\n";

static void
a_loop_in_a_branch_that_is_not_taken_is_dead(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, IN_BRANCH);
    for (int round = 0; round < 6; round++) {
        bool is_taken = round % 2 == 0;
        RunOutcome outcome = {0};
        TensorBuffer *buffer = fixture.device->allocate(fixture.device, 1);
        *(bool *)buffer->data = is_taken;
        Tensor args[] = {integer(&fixture, 5), fixture_vector(&fixture, 1, 1),
            {.dtype = DTYPE_BOOL, .shape = shape_scalar(), .data = buffer->data, .buffer = buffer}};
        fixture_run(&fixture, partition, NULL, args, 3, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(outcome.is_dead[0], !is_taken);
        assert_float_equal(tensor_float(&outcome.outputs[1], 0), is_taken ? 32 : -1, 0);
        assert_int_equal(tensor_int(&outcome.outputs[2]), is_taken);
        outcome_clear(&outcome);
        assert_int_equal(fixture_memory_in_use(&fixture), 0);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
an_error_in_a_later_turn_gives_all_buffers_back(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    /* v has 1, 2, 4 … elements, of which only 1 can be added to three. */
    AUTO_PARTITION partition = fixture_compile(&fixture,
        FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "parallel_iterations=4") LOOP_VARIABLE("v", "i", "loop",
            "x", "parallel_iterations=4") "axis = Const(^v_body) dtype=int32 value=int32(0)\n"
                                          "twice = ConcatV2(v_body, v_body, axis) T=float32 N=2 Tidx=int32\n"
                                          "v_new = Identity(twice) T=float32\n"
                                          "three = Const(^v_body) dtype=float32 value=float32<3>(1)\n"
                                          "wrong = Add(v_body, three) T=float32\n" FETCHES);
    for (int round = 0; round < 5; round++) {
        RunOutcome outcome = {0};
        Tensor args[] = {integer(&fixture, 20), fixture_vector(&fixture, 1, 1)};
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
        assert_string_equal(outcome.node, "wrong");
        assert_int_equal(outcome.done_count, 1);
        outcome_clear(&outcome);
        assert_int_equal(fixture_memory_in_use(&fixture), 0);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
run_until(RunFixture *fixture, Partition *partition, uint64_t duration_ms, RunOutcome *outcome)
{
    Tensor arg = fixture_vector(fixture, 1, 1);
    RunRequest request = {.partition = partition,
        .args = &arg,
        .arg_count = 1,
        .deadline_ns = clock_monotonic_ns() + duration_ms * CLOCK_NS_PER_MS,
        .callbacks = outcome_callbacks(outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
    outcome_wait(outcome);
}

/* The deadline may pass before the loop begins, on a busy machine. */
static void
a_loop_without_end_stops_at_its_deadline(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, LOOP_ENDLESS);
    bool has_begun = false;
    for (uint64_t duration_ms = 10; duration_ms < 10000 && !has_begun; duration_ms *= 4) {
        RunOutcome outcome = {0};
        run_until(&fixture, partition, duration_ms, &outcome);
        assert_int_equal(outcome.code, STATUS_DEADLINE_EXCEEDED);
        has_begun = strstr(outcome.message,
                        "the step's deadline has passed; running: loop 'for/ever' in iteration ") != NULL;
        outcome_clear(&outcome);
    }
    assert_true(has_begun);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_loop_without_end_can_be_cancelled(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, LOOP_ENDLESS);
    for (int round = 0; round < 5; round++) {
        RunOutcome outcome = {0};
        Run *run = NULL;
        Tensor arg = fixture_vector(&fixture, 1, 1);
        RunRequest request = {
            .partition = partition, .args = &arg, .arg_count = 1, .callbacks = outcome_callbacks(&outcome)};
        assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, &run));
        (void)nanosleep(&(struct timespec){.tv_nsec = CLOCK_NS_PER_MS}, NULL);
        run_cancel(run, STATUS_CANCELLED, "nobody waits");
        outcome_wait(&outcome);
        assert_int_equal(outcome.code, STATUS_CANCELLED);
        run_unref(run);
        outcome_clear(&outcome);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Three turns in which values move from one variable to the next: nothing is handed to another thread,
 * which would bring an arena. */
static const char *const SHIFTING = "x = _Arg() T=float32 index=0\n"
                                    "yes = Const() dtype=bool value=bool(1)\n"
                                    "a = Enter(yes) T=bool frame_name='loop'\n"
                                    "b = Enter(yes) T=bool frame_name='loop'\n"
                                    "c = Enter(yes) T=bool frame_name='loop'\n"
                                    "v = Enter(x) T=float32 frame_name='loop'\n"
                                    "am = Merge(a, an) T=bool N=2\n"
                                    "bm = Merge(b, bn) T=bool N=2\n"
                                    "cm = Merge(c, cn) T=bool N=2\n"
                                    "vm = Merge(v, vn) T=float32 N=2\n"
                                    "p = LoopCond(am)\n"
                                    "bs = Switch(bm, p) T=bool\n"
                                    "cs = Switch(cm, p) T=bool\n"
                                    "vs = Switch(vm, p) T=float32\n"
                                    "turn = Identity(vs:1) T=float32\n"
                                    "no = Const(^turn) dtype=bool value=bool(0)\n"
                                    "an = NextIteration(bs:1) T=bool\n"
                                    "bn = NextIteration(cs:1) T=bool\n"
                                    "cn = NextIteration(no) T=bool\n"
                                    "vn = NextIteration(turn) T=float32\n"
                                    "exit = Exit(vs) T=float32\n"
                                    "o = _Retval(exit) T=float32 index=0\n";

static void
a_second_run_of_a_loop_allocates_nothing_from_the_system(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, SHIFTING);
    for (int round = 0; round < 10; round++) {
        size_t before = fail_alloc_count;
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(&fixture, 3, 5);
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_float_equal(tensor_float(&outcome.outputs[0], 2), 5, 0);
        outcome_clear(&outcome);
        assert_true(round < 5 || fail_alloc_count == before);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
each_failing_allocation_in_a_loop_is_told(void **state)
{
    (void)state;
    for (size_t at = 1; at < 30; at++) {
        RunFixture fixture;
        fixture_begin(&fixture, 1);
        AUTO_PARTITION partition = compile_with(&fixture, NESTED, 4);
        RunOutcome outcome = {0};
        Tensor args[] = {integer(&fixture, 4), fixture_vector(&fixture, 3, 1)};
        RunRequest request = {
            .partition = partition, .args = args, .arg_count = 2, .callbacks = outcome_callbacks(&outcome)};
        atomic_store_relaxed(&fail_alloc_count, 0);
        fail_alloc_at = at;
        Status status = run_start(&fixture.call, &request, NULL);
        if (status == STATUS_OK) {
            outcome_wait(&outcome);
            assert_true(outcome.code == STATUS_OK || outcome.code == STATUS_RESOURCE_EXHAUSTED);
        } else {
            assert_int_equal(status, STATUS_RESOURCE_EXHAUSTED);
        }
        fail_alloc_at = 0;
        outcome_clear(&outcome);
        tensor_unref(&args[0]);
        tensor_unref(&args[1]);
        partition_unref(TAKE(partition));
        fixture_end(&fixture);
    }
}

/* A loop that draws a random number in every iteration, with these seeds. */
#define DRAWING(SEEDS)                                                                                       \
    FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "parallel_iterations=10") LOOP_VARIABLE("v", "i", "loop",   \
        "x", "parallel_iterations=10") "s = Const(^i_body) dtype=int32 value=int32<1>(3)\n"                  \
                                       "r = RandomUniform(s) dtype=float32 T=int32 " SEEDS                   \
                                       "\nv_new = Add(v_body, r) T=float32\n" FETCHES

static void
iterations_that_draw_from_a_sequence_do_not_overlap(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION seeded = fixture_compile(&fixture, DRAWING("seed=7"));
    AUTO_PARTITION free = fixture_compile(&fixture, DRAWING(""));
    assert_int_equal(seeded->frames[1].parallel_iterations, 1);
    assert_int_equal(free->frames[1].parallel_iterations, 10);
    partition_unref(TAKE(seeded));
    partition_unref(TAKE(free));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_counts_and_carries_a_value),
        cmocka_unit_test(iterations_that_draw_from_a_sequence_do_not_overlap),
        cmocka_unit_test(a_loop_that_turns_no_time_lets_its_values_out),
        cmocka_unit_test(any_number_of_parallel_iterations_and_threads_gives_the_same_bits),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(each_turn_takes_its_own_branch),
        cmocka_unit_test(a_loop_in_a_branch_that_is_not_taken_is_dead),
        cmocka_unit_test(an_error_in_a_later_turn_gives_all_buffers_back),
        cmocka_unit_test(a_loop_without_end_stops_at_its_deadline),
        cmocka_unit_test(a_loop_without_end_can_be_cancelled),
        cmocka_unit_test(a_second_run_of_a_loop_allocates_nothing_from_the_system),
        cmocka_unit_test(each_failing_allocation_in_a_loop_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
