#include "tests/support/cmocka_all.h"
#include "tests/support/expressions.h"
#include "tests/support/graph_literals.h"
#include "tests/support/partition_runs.h"

static const Dtype DTYPES[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_INT8,
    DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT8, DTYPE_UINT16, DTYPE_UINT32, DTYPE_UINT64, DTYPE_BOOL,
    DTYPE_COMPLEX64, DTYPE_COMPLEX128};

static void
run(RunFixture *fixture, Expression *expression, bool is_fused, RunOutcome *ret_outcome)
{
    Partition *partition = expression_compile(fixture, expression, is_fused);
    expression_run(fixture, partition, expression, ret_outcome);
    partition_unref(partition);
}

static void
try_expressions(int threads, const Shape *whole, uint64_t seeds)
{
    RunFixture fixture;
    fixture_begin(&fixture, threads);
    for (size_t dtype = 0; dtype < COUNT_OF(DTYPES); dtype++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            Expression expression;
            RunOutcome fused;
            RunOutcome expected;
            expression_begin(&expression, seed * 977 + dtype, DTYPES[dtype], whole);
            run(&fixture, &expression, true, &fused);
            run(&fixture, &expression, false, &expected);
            expression_expect_same(&expression, &fused, &expected);
            outcome_clear(&fused);
            outcome_clear(&expected);
            expression_end(&expression);
        }
    }
    fixture_end(&fixture);
}

static void
small_expressions_keep_their_bits(void **state)
{
    (void)state;
    try_expressions(1, &(Shape){.rank = 3, .dims = {3, 5, 7}}, 24);
    try_expressions(2, &(Shape){.rank = 0}, 4);
    try_expressions(2, &(Shape){.rank = 2, .dims = {4, 0}}, 4);
}

static void
large_expressions_keep_their_bits_on_any_threads(void **state)
{
    (void)state;
    Shape shape = {.rank = 3, .dims = {13, 41, 67}};
    for (int threads = 1; threads <= 4; threads *= 2) {
        try_expressions(threads, &shape, 1);
    }
}

static void
a_failure_names_the_node_that_the_author_wrote(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=int32 index=0\ny = _Arg() T=int32 index=1\n"
        "sum = Add(x, x) T=int32\nquotient = FloorDiv(sum, y) T=int32\nresult = Neg(quotient) T=int32\n"
        "out = _Retval(result) T=int32 index=0\n");
    Tensor args[2];
    for (int index = 0; index < 2; index++) {
        assert_true(tensor_new(DTYPE_INT32, &(Shape){.rank = 1, .dims = {2}}, &args[index]));
        memset(args[index].data, 0, tensor_byte_size(&args[index]));
    }
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(outcome.node, "quotient");
    assert_non_null(strstr(outcome.message, "element 0 of the second input is 0"));
    partition_unref(partition);
    outcome_clear(&outcome);
    fixture_end(&fixture);
}

static void
shapes_that_do_not_fit_are_told_of_the_node_that_meets_them(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=float32 index=0\ny = _Arg() T=float32 index=1\n"
        "sum = Add(x, y) T=float32\nresult = Neg(sum) T=float32\nout = _Retval(result) T=float32 index=0\n");
    Tensor args[] = {fixture_vector(&fixture, 2, 1), fixture_vector(&fixture, 3, 1)};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_int_equal(outcome.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(outcome.node, "sum");
    partition_unref(partition);
    outcome_clear(&outcome);
    fixture_end(&fixture);
}

/* The sum is fused with its product by a value that may be dead, and can fail by itself. */
static void
a_failure_beside_a_dead_input_is_told(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Partition *partition =
        fixture_compile(&fixture, "x = _Arg() T=float32 index=0\ny = _Arg() T=float32 index=1\n"
                                  "never = Const() dtype=bool value=bool(0)\n"
                                  "taken = Switch(x, never) T=float32\n"
                                  "sum = Add(x, y) T=float32\nproduct = Mul(sum, taken:1) T=float32\n"
                                  "result = Merge(product, taken:0) T=float32 N=2\n"
                                  "out = _Retval(result) T=float32 index=0\n");
    for (int64_t size = 2; size <= 3; size++) {
        RunOutcome outcome = {0};
        Tensor args[] = {fixture_vector(&fixture, 2, 1), fixture_vector(&fixture, size, 1)};
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_int_equal(outcome.code, size == 2 ? STATUS_OK : STATUS_INVALID_ARGUMENT);
        assert_string_equal(outcome.node, size == 2 ? "" : "sum");
        outcome_clear(&outcome);
    }
    assert_int_equal(fixture_memory_in_use(&fixture), 0);
    partition_unref(partition);
    fixture_end(&fixture);
}

static void
a_fused_node_tells_whom_it_computes(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=float32 index=0\nn = Neg(x) T=float32\nr = Relu(n) T=float32\n"
        "out = _Retval(r) T=float32 index=0\n");
    assert_true(slice_equals_string(partition_node(partition, 2).op, "_Fused(n: Neg, r: Relu)"));
    assert_true(slice_equals_string(partition_node(partition, 2).name, "r"));
    partition_unref(partition);
    fixture_end(&fixture);
}

/* More combinations of shapes than are kept, each as often as the others. */
static void
every_combination_of_shapes_is_computed_right(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Partition *partition = fixture_compile(&fixture,
        "x = _Arg() T=float32 index=0\nn = Neg(x) T=float32\nr = Add(n, x) T=float32\n"
        "out = _Retval(r) T=float32 index=0\n");
    for (int64_t size = 1; size <= 24; size++) {
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(&fixture, 1 + size % 8, 3);
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_int_equal(tensor_element_count(&outcome.outputs[0]), 1 + size % 8);
        assert_float_equal(tensor_float(&outcome.outputs[0], size % 8), 0, 0);
        outcome_clear(&outcome);
    }
    partition_unref(partition);
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_expressions_keep_their_bits),
        cmocka_unit_test(large_expressions_keep_their_bits_on_any_threads),
        cmocka_unit_test(a_failure_names_the_node_that_the_author_wrote),
        cmocka_unit_test(shapes_that_do_not_fit_are_told_of_the_node_that_meets_them),
        cmocka_unit_test(a_failure_beside_a_dead_input_is_told),
        cmocka_unit_test(a_fused_node_tells_whom_it_computes),
        cmocka_unit_test(every_combination_of_shapes_is_computed_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
