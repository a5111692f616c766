/* Values that kernels of the card refuse, found in runs: who is blamed, when, and nobody else. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_fixture.h"

enum { PARAMS = 3 };

/* Returns `count` indices, of which all but one are 1. */
static Tensor
indices_with(RunFixture *fixture, int64_t count, int64_t place, int32_t index)
{
    Tensor tensor = fixture_vector(fixture, count, 0);
    tensor.dtype = DTYPE_INT32;
    for (int64_t i = 0; i < count; i++) {
        ((int32_t *)tensor.data)[i] = i == place ? index : 1;
    }
    return tensor;
}

/* Runs a partition whose feeds are three numbers and some indices, and checks which node fails and why; NULL:
 * none. */
static void
expect_end(RunFixture *fixture, Partition *partition, Tensor indices, const char *node, const char *message)
{
    RunOutcome outcome = {0};
    Tensor args[] = {fixture_vector(fixture, PARAMS, 5), indices};
    fixture_run(fixture, partition, NULL, args, COUNT_OF(args), &outcome);
    assert_string_equal(outcome.message, message == NULL ? "" : message);
    assert_string_equal(outcome.node, node == NULL ? "" : node);
    assert_int_equal(outcome.code, message == NULL ? STATUS_OK : STATUS_INVALID_ARGUMENT);
    assert_int_equal(outcome.output_count, message == NULL ? 1 : 0);
    outcome_clear(&outcome);
}

#define GATHER                                                                                               \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "i = _Arg() T=int32 index=1\n"                                                                           \
    "g = Gather(x, i) Tparams=float32 Tindices=int32 @/device:GPU:0\n"

/* Small copies to the host and large ones, and the run behind one that failed. */
static void
an_index_out_of_range_fails_its_run_alone(void **state)
{
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    AUTO_PARTITION partition = fixture_compile(fixture, GATHER "n = Neg(g) T=float32\n"
                                                               "out = _Retval(n) T=float32 index=0\n");
    static const int64_t counts[] = {4, 40000, 2000000};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        int64_t count = counts[i];
        expect_end(fixture, partition, indices_with(fixture, count, 3, 2), NULL, NULL);
        expect_end(
            fixture, partition, indices_with(fixture, count, 3, 7), "g", "index 7 at 3 is not within 3");
        expect_end(
            fixture, partition, indices_with(fixture, count, 2, -1), "g", "index -1 at 2 is not within 3");
        expect_end(fixture, partition, indices_with(fixture, count, 0, 0), NULL, NULL);
    }
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

/* The sum of what was gathered says whether the loop goes on: with zeros in place of the wrong index it would
 * for ever. */
static void
a_loop_ends_that_depends_on_a_wrong_index(void **state)
{
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    AUTO_PARTITION partition = fixture_compile(fixture,
        "x = _Arg() T=float32 index=0\n"
        "i = _Arg() T=int32 index=1\n"
        "limit = Const() dtype=float32 value=float32(100)\n"
        "x_enter = Enter(x) T=float32 frame_name='loop' is_constant=true\n"
        "l_enter = Enter(limit) T=float32 frame_name='loop' is_constant=true\n"
        "i_enter = Enter(i) T=int32 frame_name='loop'\n"
        "i_merge = Merge(i_enter, i_next) N=2 T=int32\n"
        "axes = Const(^i_merge) dtype=int32 value=int32<1>(0)\n"
        "g = Gather(x_enter, i_merge) Tparams=float32 Tindices=int32 @/device:GPU:0\n"
        "sum = Sum(g, axes) T=float32 Tidx=int32 keep_dims=false\n"
        "less = Less(sum, l_enter) T=float32\n"
        "cond = LoopCond(less)\n"
        "i_switch = Switch(i_merge, cond) T=int32\n"
        "one = Const(^i_switch) dtype=int32 value=int32(1)\n"
        "i_add = Add(i_switch:1, one) T=int32\n"
        "i_next = NextIteration(i_add) T=int32\n"
        "i_exit = Exit(i_switch) T=int32\n"
        "out = _Retval(i_exit) T=int32 index=0\n");
    expect_end(fixture, partition, indices_with(fixture, 1, 0, 0), "g", "index 3 at 0 is not within 3");
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

#define VARIABLE "v = VarHandleOp() dtype=float32 shape=<3> container='' shared_name='v'\n"

/* Runs a text in the session, with three numbers and three indices, and returns the last element of its
 * output, or 0 when it fails. */
static float
run_in_session(
    RunFixture *fixture, ResourceContainer *container, const char *text, int32_t index, Status status)
{
    AUTO_PARTITION partition = fixture_compile(fixture, text);
    RunOutcome outcome = {0};
    Tensor args[] = {fixture_vector(fixture, PARAMS, 5), indices_with(fixture, PARAMS, 1, index)};
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = COUNT_OF(args),
        .container = container,
        .callbacks = outcome_callbacks(&outcome)};
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
    outcome_wait(&outcome);
    assert_int_equal(outcome.code, status);
    float last = status == STATUS_OK ? tensor_float(&outcome.outputs[0], PARAMS - 1) : 0;
    outcome_clear(&outcome);
    return last;
}

/* A change that the host computes never begins behind a node that fails; neither does one of the card. */
static void
a_variable_is_not_changed_by_what_follows_from_a_wrong_index(void **state)
{
    static const char assign[] = GATHER VARIABLE "a = AssignVariableOp(v, x) dtype=float32\n"
                                                 "out = _Retval(g, ^a) T=float32 index=0\n";
    static const char descend[] =
        GATHER VARIABLE "one = Const() dtype=float32 value=float32(1)\n"
                        "d = ResourceApplyGradientDescent(v, one, g) T=float32 @/device:GPU:0\n"
                        "out = _Retval(x, ^d) T=float32 index=0\n";
    static const char add[] = GATHER VARIABLE "d = AssignAddVariableOp(v, g) dtype=float32 @/device:GPU:0\n"
                                              "out = _Retval(x, ^d) T=float32 index=0\n";
    static const char read[] = GATHER VARIABLE "r = ReadVariableOp(v) dtype=float32\n"
                                               "s = Mul(r, x) T=float32 @/device:GPU:0\n"
                                               "out = _Retval(s) T=float32 index=0\n";
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    ResourceContainer *container = container_new();
    assert_non_null(container);
    (void)run_in_session(fixture, container, assign, 0, STATUS_OK);
    float before = run_in_session(fixture, container, read, 0, STATUS_OK);
    (void)run_in_session(fixture, container, descend, 3, STATUS_INVALID_ARGUMENT);
    assert_float_equal(run_in_session(fixture, container, read, 0, STATUS_OK), before, 0);
    (void)run_in_session(fixture, container, add, -1, STATUS_INVALID_ARGUMENT);
    assert_float_equal(run_in_session(fixture, container, read, 0, STATUS_OK), before, 0);
    (void)run_in_session(fixture, container, descend, 0, STATUS_OK);
    assert_true(run_in_session(fixture, container, read, 0, STATUS_OK) < before);
    container_unref(container);
    cuda_fixture_end(&card);
}

static void
the_first_of_two_nodes_is_blamed(void **state)
{
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    AUTO_PARTITION partition =
        fixture_compile(fixture, GATHER "h = Gather(g, i) Tparams=float32 Tindices=int32 @/device:GPU:0\n"
                                        "out = _Retval(h) T=float32 index=0\n");
    for (int round = 0; round < 5; round++) {
        expect_end(
            fixture, partition, indices_with(fixture, 300, 77, 3), "g", "index 3 at 77 is not within 3");
        expect_end(fixture, partition, indices_with(fixture, 2, 1, 2), "h", "index 2 at 1 is not within 2");
    }
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

static void
a_division_by_zero_fails_its_run_alone(void **state)
{
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    AUTO_PARTITION partition =
        fixture_compile(fixture, GATHER "i_again = Identity(i) T=int32\n"
                                        "d = FloorDiv(i, i_again) T=int32 @/device:GPU:0\n"
                                        "h = Gather(g, d) Tparams=float32 Tindices=int32\n"
                                        "out = _Retval(h) T=float32 index=0\n");
    expect_end(fixture, partition, indices_with(fixture, 5000, 4321, 0), "d",
        "element 4321 of the second input is 0, which is not allowed for int32 integers");
    expect_end(fixture, partition, indices_with(fixture, 5000, 4321, 2), NULL, NULL);
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

/* The node's value goes nowhere; the run ends behind it all the same. */
static void
a_wrong_index_is_told_that_no_copy_brings(void **state)
{
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    AUTO_PARTITION partition = fixture_compile(fixture, "x = _Arg() T=float32 index=0\n"
                                                        "i = _Arg() T=int32 index=1\n"
                                                        "out = _Retval(i) T=int32 index=0\n"
                                                        "n = Neg(x, ^out) T=float32\n"
                                                        "g = Gather(n, i) Tparams=float32 Tindices=int32 "
                                                        "@/device:GPU:0\n");
    RunOutcome outcome = {0};
    for (int round = 0; round < 4; round++) {
        bool is_wrong = round % 2 == 0;
        Tensor args[] = {fixture_vector(fixture, PARAMS, 5), indices_with(fixture, 2, 0, is_wrong ? 9 : 2)};
        fixture_run(fixture, partition, NULL, args, COUNT_OF(args), &outcome);
        assert_string_equal(outcome.message, is_wrong ? "index 9 at 0 is not within 3" : "");
        outcome_clear(&outcome);
    }
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

/* A run of a called function uses the lane of its caller. */
static void
a_called_function_blames_its_own_node(void **state)
{
    (void)state;
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    AUTO_PARTITION partition = fixture_compile(fixture,
        "function pick() -> ()\n"
        "fx = _Arg() T=float32 index=0\n"
        "fi = _Arg() T=int32 index=1\n"
        "fg = Gather(fx, fi) Tparams=float32 Tindices=int32 @/device:GPU:0\n"
        "fout = _Retval(fg) T=float32 index=0\n"
        "end\n"
        "x = _Arg() T=float32 index=0\n"
        "i = _Arg() T=int32 index=1\n"
        "yes = Const() dtype=bool value=bool(1)\n"
        "f = _Branch(yes, x, i) Tindex=bool Tin=[float32,int32] Tout=[float32] branches=[@pick,@pick]\n"
        "n = Neg(f) T=float32 @/device:GPU:0\n"
        "out = _Retval(n) T=float32 index=0\n");
    for (int round = 0; round < 2; round++) {
        expect_end(fixture, partition, indices_with(fixture, 4, 2, 2), NULL, NULL);
        expect_end(fixture, partition, indices_with(fixture, 4, 2, 4), "fg", "index 4 at 2 is not within 3");
    }
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

/* Many runs share the lane at a time, and every third of them has a wrong index. */
static void
runs_beside_one_that_fails_go_well(void **state)
{
    (void)state;
    enum { RUNS = 12, ROUNDS = 8 };
    static RunOutcome outcomes[RUNS];
    CudaFixture card;
    cuda_fixture_begin(&card);
    RunFixture *fixture = &card.run;
    AUTO_PARTITION partition =
        fixture_compile(fixture, GATHER "h = Gather(g, i) Tparams=float32 Tindices=int32 @/device:GPU:0\n"
                                        "out = _Retval(h) T=float32 index=0\n");
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < RUNS; i++) {
            Tensor args[] = {fixture_vector(fixture, PARAMS, (float)i),
                indices_with(fixture, 30, 20, i % 3 == 0 ? 50 + i : 2)};
            RunRequest request = {.partition = partition,
                .args = args,
                .arg_count = COUNT_OF(args),
                .callbacks = outcome_callbacks(&outcomes[i])};
            assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
        }
        for (int i = 0; i < RUNS; i++) {
            char message[64] = "";
            outcome_wait(&outcomes[i]);
            if (i % 3 == 0) {
                (void)snprintf(message, sizeof message, "index %d at 20 is not within 3", 50 + i);
            } else {
                assert_float_equal(tensor_float(&outcomes[i].outputs[0], 29), i, 0);
            }
            assert_string_equal(outcomes[i].message, message);
            outcome_clear(&outcomes[i]);
        }
    }
    partition_unref(TAKE(partition));
    cuda_fixture_end(&card);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_out_of_range_fails_its_run_alone),
        cmocka_unit_test(a_loop_ends_that_depends_on_a_wrong_index),
        cmocka_unit_test(a_variable_is_not_changed_by_what_follows_from_a_wrong_index),
        cmocka_unit_test(the_first_of_two_nodes_is_blamed),
        cmocka_unit_test(a_division_by_zero_fails_its_run_alone),
        cmocka_unit_test(a_wrong_index_is_told_that_no_copy_brings),
        cmocka_unit_test(a_called_function_blames_its_own_node),
        cmocka_unit_test(runs_beside_one_that_fails_go_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
