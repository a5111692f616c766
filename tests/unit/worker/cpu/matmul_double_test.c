#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"
#include "worker/reference/matrix.h"

/* Numbers whose sums are rounded, so that their order shows. */
static Tensor
numbers(const Shape *shape, int seed)
{
    Tensor tensor = {0};
    assert_true(tensor_new(DTYPE_FLOAT64, shape, &tensor));
    int64_t count = tensor_element_count(&tensor);
    for (int64_t index = 0; index < count; index++) {
        ((double *)tensor.data)[index] = (double)((index * 7919 + seed) % 1009 - 500) / 7.0;
    }
    return tensor;
}

static void
expect_reference(int threads, const char *op, const Shape shapes[3], const bool transposes[2])
{
    static const char *const flags[2][2] = {{"transpose_a", "transpose_b"}, {"adj_x", "adj_y"}};
    const char *const *names = flags[op[0] == 'B' ? 1 : 0];
    char text[512];
    RunFixture fixture;
    RunOutcome outcome = {0};
    AUTO_TENSOR expected = {0};
    snprintf(text, sizeof text,
        "a = _Arg() T=float64 index=0\nb = _Arg() T=float64 index=1\n"
        "y = %s(a, b) T=float64 %s=%s %s=%s\nout = _Retval(y) T=float64 index=0\n",
        op, names[0], transposes[0] ? "true" : "false", names[1], transposes[1] ? "true" : "false");
    fixture_begin(&fixture, threads);
    AUTO_PARTITION partition = fixture_compile(&fixture, text);
    (void)fixture_fast_node(partition, "y");
    Tensor args[] = {numbers(&shapes[0], 1), numbers(&shapes[1], 2)};
    assert_true(tensor_new(DTYPE_FLOAT64, &shapes[2], &expected));
    matrix_multiply(&args[0], transposes[0], &args[1], transposes[1], &expected);
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "");
    assert_true(tensor_equal(&outcome.outputs[0], &expected));
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static Shape
matrix_shape(int64_t rows, int64_t columns, bool is_transposed)
{
    return (Shape){.rank = 2, .dims = {is_transposed ? columns : rows, is_transposed ? rows : columns}};
}

static void
every_size_has_the_bits_of_the_reference(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1}, {4, 8, 128}, {5, 9, 129}, {63, 65, 200}, {64, 64, 64},
        {130, 71, 300}, {3, 2, 0}, {0, 4, 3}};
    for (size_t index = 0; index < COUNT_OF(sizes); index++) {
        for (int flags = 0; flags < 4; flags++) {
            const bool transposes[] = {(flags & 1) != 0, (flags & 2) != 0};
            const int64_t *size = sizes[index];
            const Shape shapes[] = {matrix_shape(size[0], size[2], transposes[0]),
                matrix_shape(size[2], size[1], transposes[1]), matrix_shape(size[0], size[1], false)};
            expect_reference(1 + flags, "MatMul", shapes, transposes);
        }
    }
}

static void
batches_have_the_bits_of_the_reference(void **state)
{
    (void)state;
    static const Shape shapes[] = {{.rank = 4, .dims = {2, 3, 7, 20}}, {.rank = 3, .dims = {1, 20, 9}},
        {.rank = 4, .dims = {2, 3, 7, 9}}};
    expect_reference(2, "BatchMatMulV2", shapes, (const bool[]){false, false});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_has_the_bits_of_the_reference),
        cmocka_unit_test(batches_have_the_bits_of_the_reference),
    };
    return cmocka_run_group_tests_name("worker/cpu/kernels/matmul_double", tests, NULL, NULL);
}
