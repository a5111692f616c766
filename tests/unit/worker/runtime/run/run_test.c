#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <pthread.h>

#include "shared/base/clock.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/partition_runs.h"

static const char *const LINEAR = "x = _Arg() T=float32 index=0\n"
                                  "w = _Arg() T=float32 index=1\n"
                                  "b = _Arg() T=float32 index=2\n"
                                  "xw = MatMul(x, w) T=float32\n"
                                  "y = Add(xw, b) T=float32\n"
                                  "out = _Retval(y) T=float32 index=0\n";

static void
linear_args(RunFixture *fixture, Tensor args[3])
{
    static const float X[] = {1, 2, 3, 4, 5, 6};
    static const float W[] = {1, 0, 0, 1, 1, 1};
    static const float B[] = {10, 20};
    Shape x = {.rank = 2, .dims = {2, 3}};
    Shape w = {.rank = 2, .dims = {3, 2}};
    Shape b = {.rank = 1, .dims = {2}};
    args[0] = fixture_floats(fixture, &x, X);
    args[1] = fixture_floats(fixture, &w, W);
    args[2] = fixture_floats(fixture, &b, B);
}

static void
a_linear_layer_is_computed(void **state)
{
    (void)state;
    static const float expected[] = {14, 25, 20, 31};
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, LINEAR);
    assert_int_equal(partition_arg_count(partition), 3);
    assert_int_equal(partition_retval_count(partition), 1);
    for (int round = 0; round < 3; round++) {
        RunOutcome outcome = {0};
        Tensor args[3];
        linear_args(&fixture, args);
        fixture_run(&fixture, partition, NULL, args, 3, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(outcome.code, STATUS_OK);
        assert_int_equal(outcome.output_count, 1);
        assert_int_equal(outcome.done_count, 1);
        assert_int_equal(outcome.stats.node_count, 6);
        for (int i = 0; i < 4; i++) {
            assert_float_equal(tensor_float(&outcome.outputs[0], i), expected[i], 0);
        }
        assert_null(args[0].buffer);
        outcome_clear(&outcome);
        assert_int_equal(fixture_memory_in_use(&fixture), 0);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_diamond_joins_and_reuses_buffers(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "left = Neg(x) T=float32\n"
                                                         "right = Add(x, x) T=float32\n"
                                                         "sum = Add(left, right) T=float32\n"
                                                         "both = Mul(sum, sum, ^left) T=float32\n"
                                                         "out = _Retval(both) T=float32 index=0\n"
                                                         "again = _Retval(sum) T=float32 index=1\n");
    RunOutcome outcome = {0};
    Tensor arg = fixture_vector(&fixture, 5, 3);
    fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
    assert_float_equal(tensor_float(&outcome.outputs[0], 4), 9, 0);
    assert_float_equal(tensor_float(&outcome.outputs[1], 4), 3, 0);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
the_last_consumer_computes_in_place(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "b = Identity(a) T=float32\n"
                                                         "c = Neg(b) T=float32\n"
                                                         "out = _Retval(c) T=float32 index=0\n");
    RunOutcome outcome = {0};
    Tensor arg = fixture_vector(&fixture, 5, 3);
    const void *data = arg.data;
    fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
    assert_ptr_equal(outcome.outputs[0].data, data);
    assert_float_equal(tensor_float(&outcome.outputs[0], 0), 3, 0);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
constants_are_bound_and_never_written(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "two = Const() dtype=float32 value=float32(2)\n"
                                                         "y = Mul(two, x) T=float32\n"
                                                         "minus = Neg(two) T=float32\n"
                                                         "same = Identity(two) T=float32\n"
                                                         "o0 = _Retval(y) T=float32 index=0\n"
                                                         "o1 = _Retval(minus) T=float32 index=1\n"
                                                         "o2 = _Retval(same) T=float32 index=2\n"
                                                         "o3 = _Retval(two) T=float32 index=3\n");
    for (int round = 0; round < 2; round++) {
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(&fixture, 1, 5);
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        assert_float_equal(tensor_float(&outcome.outputs[0], 0), 10, 0);
        assert_float_equal(tensor_float(&outcome.outputs[1], 0), -2, 0);
        assert_float_equal(tensor_float(&outcome.outputs[2], 0), 2, 0);
        assert_float_equal(tensor_float(&outcome.outputs[3], 0), 2, 0);
        outcome_clear(&outcome);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Compiles x·1, x·2, … joined pairwise: wide enough for all threads, with float sums in which another
 * order would show. */
static Partition *
wide_partition(RunFixture *fixture, int width)
{
    static char text[64 * 1024];
    int size = snprintf(text, sizeof text, "x = _Arg() T=float32 index=0\n");
    for (int i = 0; i < width; i++) {
        size += snprintf(text + size, sizeof text - (size_t)size,
            "c%d = Const() dtype=float32 value=float32(0.%d1)\n"
            "m%d = Mul(x, c%d) T=float32\n"
            "e%d = Exp(m%d) T=float32\n",
            i, i, i, i, i, i);
    }
    size += snprintf(text + size, sizeof text - (size_t)size, "s0 = Identity(e0) T=float32\n");
    for (int i = 1; i < width; i++) {
        size +=
            snprintf(text + size, sizeof text - (size_t)size, "s%d = Add(s%d, e%d) T=float32\n", i, i - 1, i);
    }
    snprintf(text + size, sizeof text - (size_t)size, "out = _Retval(s%d) T=float32 index=0\n", width - 1);
    return fixture_compile(fixture, text);
}

static void
any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    AUTO_TENSOR expected = {0};
    for (int threads = 1; threads <= 4; threads *= 2) {
        RunFixture fixture;
        fixture_begin(&fixture, threads);
        AUTO_PARTITION partition = wide_partition(&fixture, 40);
        for (int round = 0; round < 4; round++) {
            RunOutcome outcome = {0};
            Tensor arg = fixture_vector(&fixture, 20000, 0.3F);
            fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
            assert_int_equal(outcome.code, STATUS_OK);
            assert_same_bits(&expected, &outcome.outputs[0]);
            outcome_clear(&outcome);
        }
        partition_unref(TAKE(partition));
        fixture_end(&fixture);
    }
}

static const char *const CONDITIONAL = "x = _Arg() T=float32 index=0\n"
                                       "p = _Arg() T=bool index=1\n"
                                       "s = Switch(x, p) T=float32\n"
                                       "no = Neg(s:0) T=float32\n"
                                       "yes = Add(s:1, s:1) T=float32\n"
                                       "pivot = Identity(s:1) T=float32\n"
                                       "five = Const(^pivot) dtype=float32 value=float32(5)\n"
                                       "m = Merge(no, yes) T=float32 N=2\n"
                                       "out = _Retval(m) T=float32 index=0\n"
                                       "which = _Retval(m:1) T=int32 index=1\n"
                                       "branch = _Retval(no) T=float32 index=2\n"
                                       "constant = _Retval(five) T=float32 index=3\n"
                                       "killed = Identity(x, ^yes) T=float32\n"
                                       "o4 = _Retval(killed) T=float32 index=4\n"
                                       "trigger = ControlTrigger(^no, ^yes)\n"
                                       "alive = Identity(x, ^trigger) T=float32\n"
                                       "o5 = _Retval(alive) T=float32 index=5\n";

static Tensor
predicate(RunFixture *fixture, bool value)
{
    TensorBuffer *buffer = fixture->device->allocate(fixture->device, 1);
    *(bool *)buffer->data = value;
    return (Tensor){.dtype = DTYPE_BOOL, .shape = shape_scalar(), .data = buffer->data, .buffer = buffer};
}

static void
only_the_taken_branch_is_live(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, CONDITIONAL);
    for (int taken = 0; taken < 2; taken++) {
        RunOutcome outcome = {0};
        Tensor args[] = {fixture_vector(&fixture, 2, 3), predicate(&fixture, taken == 1)};
        int64_t which = -1;
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(outcome.output_count, 6);
        assert_float_equal(tensor_float(&outcome.outputs[0], 1), taken ? 6 : -3, 0);
        assert_true(tensor_to_int64(&outcome.outputs[1], 0, &which));
        assert_int_equal(which, taken);
        assert_int_equal(outcome.is_dead[2], taken);
        assert_int_equal(outcome.is_dead[3], !taken);
        assert_int_equal(outcome.is_dead[4], !taken);
        assert_false(outcome.is_dead[5]);
        assert_int_equal(outcome.outputs[2].dtype, taken ? DTYPE_INVALID : DTYPE_FLOAT32);
        outcome_clear(&outcome);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
an_error_in_the_middle_names_its_node_and_gives_all_buffers_back(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "y = _Arg() T=float32 index=1\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "b = Neg(y) T=float32\n"
                                                         "wrong = Add(a, b) T=float32\n"
                                                         "c = Neg(wrong) T=float32\n"
                                                         "d = Mul(c, a) T=float32\n"
                                                         "out = _Retval(d) T=float32 index=0\n"
                                                         "fine = _Retval(b) T=float32 index=1\n");
    for (int round = 0; round < 3; round++) {
        RunOutcome outcome = {0};
        Tensor args[] = {fixture_vector(&fixture, 2, 1), fixture_vector(&fixture, 3, 1)};
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
        assert_string_equal(outcome.node, "wrong");
        assert_non_null(strstr(outcome.message, "[2]"));
        assert_int_equal(outcome.done_count, 1);
        outcome_clear(&outcome);
        assert_int_equal(fixture_memory_in_use(&fixture), 0);
    }
    RunOutcome outcome = {0};
    Tensor args[] = {fixture_vector(&fixture, 2, 1), fixture_vector(&fixture, 2, 1)};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_run_that_cannot_fit_is_refused_with_sizes(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, LINEAR);
    RunOutcome outcome = {0};
    Shape x = {.rank = 2, .dims = {16384, 1}};
    Shape w = {.rank = 2, .dims = {1, 16384}};
    Tensor args[] = {fixture_vector(&fixture, 16384, 1), fixture_vector(&fixture, 16384, 1),
        fixture_vector(&fixture, 16384, 1)};
    args[0].shape = x;
    args[1].shape = w;
    RunRequest request = {
        .partition = partition, .args = args, .arg_count = 3, .callbacks = outcome_callbacks(&outcome)};
    assert_int_equal(run_start(&fixture.call, &request, NULL), STATUS_RESOURCE_EXHAUSTED);
    /* What a product needs to work in depends on the processor. */
    unsigned long long planned = 0;
    int behind = 0;
    assert_int_equal(
        sscanf(fixture.call.error.message, "the step is planned to take %llu bytes%n", &planned, &behind), 1);
    assert_true(planned >= 1073938432 && planned < 1073938432 + (1 << 20));
    assert_string_equal(fixture.call.error.message + behind,
        " (196608 fed), the largest tensors 'xw' 1073741824, but 196608 "
        "of the worker's 268435456 bytes are taken");
    assert_int_equal(outcome.done_count, 0);
    for (int i = 0; i < 3; i++) {
        tensor_unref(&args[i]);
    }
    assert_int_equal(fixture_memory_in_use(&fixture), 0);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
wrong_feeds_are_refused_before_anything_runs(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, LINEAR);
    RunOutcome outcome = {0};
    Tensor args[3];
    linear_args(&fixture, args);
    RunRequest request = {
        .partition = partition, .args = args, .arg_count = 2, .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture.call, STATUS_INVALID_ARGUMENT, run_start(&fixture.call, &request, NULL));
    assert_string_equal(fixture.call.error.message, "the partition takes 3 feeds, not 2");
    request.arg_count = 3;
    args[1].dtype = DTYPE_INT32;
    assert_status(&fixture.call, STATUS_INVALID_ARGUMENT, run_start(&fixture.call, &request, NULL));
    assert_string_equal(fixture.call.error.message, "feed 1 must be of type float32, not int32");
    assert_int_equal(outcome.done_count, 0);
    for (int i = 0; i < 3; i++) {
        tensor_unref(&args[i]);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_second_run_allocates_nothing_from_the_system(void **state)
{
    (void)state;
    enum { QUIET_ROUNDS = 20, ROUNDS_MAX = 1000 };
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "one = Const() dtype=float32 value=float32(1)\n"
                                                         "a = Add(x, one) T=float32\n"
                                                         "b = Mul(a, a) T=float32\n"
                                                         "c = Add(b, a) T=float32\n"
                                                         "out = _Retval(c) T=float32 index=0\n");
    int quiet_rounds = 0;
    for (int round = 0; quiet_rounds < QUIET_ROUNDS; round++) {
        size_t before = fail_alloc_count;
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(&fixture, 10, 3);
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        outcome_clear(&outcome);
        /* The first runs warm caches, also of a pool thread, which may be late. */
        quiet_rounds = fail_alloc_count == before ? quiet_rounds + 1 : 0;
        assert_true(round < ROUNDS_MAX);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
each_failing_allocation_is_told(void **state)
{
    (void)state;
    for (size_t at = 1; at < 6; at++) {
        RunFixture fixture;
        fixture_begin(&fixture, 1);
        AUTO_PARTITION partition = fixture_compile(&fixture, LINEAR);
        RunOutcome outcome = {0};
        Tensor args[3];
        linear_args(&fixture, args);
        RunRequest request = {
            .partition = partition, .args = args, .arg_count = 3, .callbacks = outcome_callbacks(&outcome)};
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
        for (int i = 0; i < 3; i++) {
            tensor_unref(&args[i]);
        }
        partition_unref(TAKE(partition));
        fixture_end(&fixture);
    }
}

enum { THREADS = 4, ROUNDS = 200 };

typedef struct Client {
    RunFixture *fixture;
    Partition *partition;
    int failures;
} Client;

static void *
run_many(void *argument)
{
    Client *client = argument;
    for (int i = 0; i < ROUNDS; i++) {
        Call call = {0};
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(client->fixture, 100, (float)i);
        RunRequest request = {.partition = client->partition,
            .args = &arg,
            .arg_count = 1,
            .callbacks = outcome_callbacks(&outcome)};
        if (run_start(&call, &request, NULL) != STATUS_OK) {
            client->failures++;
            continue;
        }
        outcome_wait(&outcome);
        const float *values = outcome.outputs[0].data;
        client->failures += outcome.code != STATUS_OK || values[99] != (float)i * (float)i - (float)i;
        outcome_clear(&outcome);
    }
    return NULL;
}

static void
runs_of_one_partition_do_not_disturb_each_other(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "square = Mul(x, x) T=float32\n"
                                                         "minus = Neg(x) T=float32\n"
                                                         "y = Add(square, minus) T=float32\n"
                                                         "out = _Retval(y) T=float32 index=0\n");
    pthread_t threads[THREADS];
    Client clients[THREADS];
    for (int i = 0; i < THREADS; i++) {
        clients[i] = (Client){.fixture = &fixture, .partition = partition};
        pthread_create(&threads[i], NULL, run_many, &clients[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(clients[i].failures, 0);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Runs that wait for the device's one thread: each is charged what it computed, not what it waited. */
static void
a_run_computes_only_while_it_has_a_thread(void **state)
{
    (void)state;
    enum { RUNS = 12, SIZE = 256 };
    static RunOutcome outcomes[RUNS];
    RunFixture fixture;
    uint64_t computed_ns = 0;
    uint64_t elapsed_ns = 0;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "y = MatMul(x, x) T=float32\n"
                                                         "out = _Retval(y) T=float32 index=0\n");
    uint64_t begin_ns = clock_monotonic_ns();
    for (int index = 0; index < RUNS; index++) {
        Shape shape = {.rank = 2, .dims = {SIZE, SIZE}};
        Tensor arg = fixture_numbers(&fixture, &shape, index);
        RunRequest request = {.partition = partition,
            .args = &arg,
            .arg_count = 1,
            .callbacks = outcome_callbacks(&outcomes[index])};
        assert_status(&fixture.call, STATUS_OK, run_start(&fixture.call, &request, NULL));
    }
    for (int index = 0; index < RUNS; index++) {
        outcome_wait(&outcomes[index]);
        assert_true(outcomes[index].stats.computed_ns > 0);
        computed_ns += outcomes[index].stats.computed_ns;
        elapsed_ns += outcomes[index].stats.elapsed_ns;
        outcome_clear(&outcomes[index]);
    }
    uint64_t wall_ns = clock_monotonic_ns() - begin_ns;
    /* The device's thread and this one, which may run what is short. */
    assert_in_range(computed_ns, 1, 2 * wall_ns);
    assert_in_range(computed_ns, 1, elapsed_ns);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_layer_is_computed),
        cmocka_unit_test(a_diamond_joins_and_reuses_buffers),
        cmocka_unit_test(the_last_consumer_computes_in_place),
        cmocka_unit_test(constants_are_bound_and_never_written),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(only_the_taken_branch_is_live),
        cmocka_unit_test(an_error_in_the_middle_names_its_node_and_gives_all_buffers_back),
        cmocka_unit_test(a_run_that_cannot_fit_is_refused_with_sizes),
        cmocka_unit_test(wrong_feeds_are_refused_before_anything_runs),
        cmocka_unit_test(a_second_run_allocates_nothing_from_the_system),
        cmocka_unit_test(each_failing_allocation_is_told),
        cmocka_unit_test(runs_of_one_partition_do_not_disturb_each_other),
        cmocka_unit_test(a_run_computes_only_while_it_has_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
