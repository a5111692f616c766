#include "tests/support/cmocka_all.h"

#include <math.h>

#include "tests/support/partition_runs.h"

/* Small whole numbers: every product and sum is exact in float32, in any order. */
static Tensor
matrix(RunFixture *fixture, int rank, const int64_t *dims, int seed)
{
    Shape shape = {.rank = rank};
    int64_t count = 0;
    memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    assert_true(shape_element_count(&shape, &count));
    Tensor tensor = fixture_vector(fixture, count, 0);
    tensor.shape = shape;
    for (int64_t i = 0; i < count; i++) {
        ((float *)tensor.data)[i] = (float)((i * 7 + i / 13 + seed) % 9 - 4);
    }
    return tensor;
}

static float
element(
    const float *matrix_data, int64_t rows, int64_t columns, bool is_transposed, int64_t row, int64_t column)
{
    return is_transposed ? matrix_data[column * rows + row] : matrix_data[row * columns + column];
}

/* Compares one product with its definition. */
static void
assert_product(const float *a, const float *b, const float *output, const int64_t sizes[3], bool ta, bool tb)
{
    for (int64_t row = 0; row < sizes[0]; row++) {
        for (int64_t column = 0; column < sizes[1]; column++) {
            float sum = 0;
            for (int64_t k = 0; k < sizes[2]; k++) {
                sum += element(a, sizes[0], sizes[2], ta, row, k) *
                       element(b, sizes[2], sizes[1], tb, k, column);
            }
            assert_float_equal(output[row * sizes[1] + column], sum, 0);
        }
    }
}

static void
run_matmul(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    char text[512];
    snprintf(text, sizeof text,
        "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n"
        "y = MatMul(a, b) T=float32%s%s\nout = _Retval(y) T=float32 index=0\n",
        ta ? " transpose_a=true" : "", tb ? " transpose_b=true" : "");
    AUTO_PARTITION partition = fixture_compile(&fixture, text);
    (void)fixture_fast_node(partition, "y");
    const int64_t sizes[3] = {m, n, k};
    Tensor args[] = {matrix(&fixture, 2, ta ? (int64_t[]){k, m} : (int64_t[]){m, k}, 1),
        matrix(&fixture, 2, tb ? (int64_t[]){n, k} : (int64_t[]){k, n}, 2)};
    AUTO_TENSOR a = tensor_ref(&args[0]);
    AUTO_TENSOR b = tensor_ref(&args[1]);
    RunOutcome outcome = {0};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "");
    assert_product(a.data, b.data, outcome.outputs[0].data, sizes, ta, tb);
    outcome_clear(&outcome);
    tensor_unref(&a);
    tensor_unref(&b);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
products_of_any_shape_are_right(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {
        {1, 1, 1}, {2, 3, 4}, {1, 700, 33}, {300, 1, 5}, {129, 513, 70}, {257, 1030, 129}, {16, 16, 16}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        for (int flags = 0; flags < 4; flags++) {
            run_matmul(shapes[i][0], shapes[i][1], shapes[i][2], flags & 1, flags & 2);
        }
    }
}

static void
empty_products_are_empty_or_zero(void **state)
{
    (void)state;
    run_matmul(0, 3, 2, false, false);
    run_matmul(3, 0, 2, false, false);
    run_matmul(3, 2, 0, false, false);
}

static void
batches_broadcast(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "a = _Arg() T=float32 index=0\n"
                                                         "b = _Arg() T=float32 index=1\n"
                                                         "y = BatchMatMulV2(a, b) T=float32\n"
                                                         "out = _Retval(y) T=float32 index=0\n");
    (void)fixture_fast_node(partition, "y");
    const int64_t sizes[3] = {5, 6, 7};
    Tensor args[] = {
        matrix(&fixture, 4, (int64_t[]){3, 1, 5, 7}, 1), matrix(&fixture, 3, (int64_t[]){2, 7, 6}, 2)};
    AUTO_TENSOR a = tensor_ref(&args[0]);
    AUTO_TENSOR b = tensor_ref(&args[1]);
    RunOutcome outcome = {0};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "");
    assert_int_equal(outcome.outputs[0].shape.rank, 4);
    for (int i = 0; i < 6; i++) {
        const float *output = outcome.outputs[0].data;
        assert_product((const float *)a.data + i / 2 * 35, (const float *)b.data + i % 2 * 42,
            output + i * 30, sizes, false, false);
    }
    outcome_clear(&outcome);
    tensor_unref(&a);
    tensor_unref(&b);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* 2 × aᵀ × b + 3 × c, with c a row, a column, a number, a matrix, or absent. */
static void
gemm_scales_and_adds(void **state)
{
    (void)state;
    static const Shape forms[] = {
        {.rank = 1, .dims = {6}}, {.rank = 2, .dims = {5, 1}}, {.rank = 0}, {.rank = 2, .dims = {5, 6}}};
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t form = 0; form <= COUNT_OF(forms); form++) {
        bool has_c = form < COUNT_OF(forms);
        char text[512];
        snprintf(text, sizeof text,
            "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n%s"
            "y = onnx::Gemm(a, b%s) T=float32 alpha=2.0 beta=3.0 transA=1\nout = _Retval(y) T=float32 "
            "index=0\n",
            has_c ? "c = _Arg() T=float32 index=2\n" : "", has_c ? ", c" : "");
        AUTO_PARTITION partition = fixture_compile(&fixture, text);
        (void)fixture_fast_node(partition, "y");
        int64_t rank = has_c ? forms[form].rank : 0;
        Tensor args[] = {matrix(&fixture, 2, (int64_t[]){7, 5}, 1), matrix(&fixture, 2, (int64_t[]){7, 6}, 2),
            matrix(&fixture, (int)rank, forms[has_c ? form : 0].dims, 3)};
        Tensor held[] = {tensor_ref(&args[0]), tensor_ref(&args[1]), tensor_ref(&args[2])};
        RunOutcome outcome = {0};
        fixture_run(&fixture, partition, NULL, args, has_c ? 3 : 2, &outcome);
        assert_string_equal(outcome.message, "");
        for (int64_t i = 0; i < 30; i++) {
            const int64_t added[] = {i % 6, i / 6, 0, i};
            float expected = has_c ? 3 * tensor_float(&held[2], added[form]) : 0;
            for (int64_t k = 0; k < 7; k++) {
                expected += 2 * tensor_float(&held[0], k * 5 + i / 6) * tensor_float(&held[1], k * 6 + i % 6);
            }
            assert_float_equal(tensor_float(&outcome.outputs[0], i), expected, 0);
        }
        outcome_clear(&outcome);
        for (int i = 0; i < 3; i++) {
            tensor_unref(&held[i]);
        }
        if (!has_c) {
            tensor_unref(&args[2]);
        }
        partition_unref(TAKE(partition));
    }
    fixture_end(&fixture);
}

static const char *const CONSTANT_WEIGHTS = "a = _Arg() T=float32 index=0\n"
                                            "w = Const() dtype=float32 value=float32<70,600>(0.3)\n"
                                            "y = MatMul(a, w) T=float32\n"
                                            "out = _Retval(y) T=float32 index=0\n";

/* Values whose sums depend on the order of summation. */
static Tensor
rough(RunFixture *fixture, int64_t rows, int64_t columns)
{
    Tensor tensor = fixture_vector(fixture, rows * columns, 0);
    tensor.shape = (Shape){.rank = 2, .dims = {rows, columns}};
    for (int64_t i = 0; i < rows * columns; i++) {
        ((float *)tensor.data)[i] = sinf((float)(i % 9973)) * (i % 3 == 0 ? 1000.0F : 0.01F);
    }
    return tensor;
}

static void
any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    AUTO_TENSOR expected = {0};
    for (int threads = 1; threads <= 4; threads *= 2) {
        RunFixture fixture;
        fixture_begin(&fixture, threads);
        AUTO_PARTITION partition = fixture_compile(&fixture, CONSTANT_WEIGHTS);
        (void)fixture_fast_node(partition, "y");
        for (int round = 0; round < 3; round++) {
            RunOutcome outcome = {0};
            Tensor arg = rough(&fixture, 300, 70);
            fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
            assert_same_bits(&expected, &outcome.outputs[0]);
            outcome_clear(&outcome);
        }
        partition_unref(TAKE(partition));
        fixture_end(&fixture);
    }
}

static void
a_row_alone_is_what_it_is_in_a_batch(void **state)
{
    (void)state;
    enum { ROWS = 140, K = 70, COLUMNS = 600 };
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, CONSTANT_WEIGHTS);
    RunOutcome whole = {0};
    Tensor arg = rough(&fixture, ROWS, K);
    fixture_run(&fixture, partition, NULL, &arg, 1, &whole);
    for (int64_t row = 0; row < ROWS; row += 23) {
        RunOutcome outcome = {0};
        Tensor all = rough(&fixture, ROWS, K);
        Tensor alone = fixture_vector(&fixture, K, 0);
        alone.shape = (Shape){.rank = 2, .dims = {1, K}};
        memcpy(alone.data, (const float *)all.data + row * K, K * sizeof(float));
        tensor_unref(&all);
        fixture_run(&fixture, partition, NULL, &alone, 1, &outcome);
        assert_memory_equal(outcome.outputs[0].data, (const float *)whole.outputs[0].data + row * COLUMNS,
            COLUMNS * sizeof(float));
        outcome_clear(&outcome);
    }
    outcome_clear(&whole);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Each activation that a product can be fused with, and the node that it replaces. */
static const struct {
    const char *step;
    const char *op;
} ACTIVATIONS[] = {{"Relu", "Relu"}, {"Relu6", "Relu6"}, {"Elu", "Elu"}, {"Sigmoid", "Sigmoid"},
    {"Tanh", "Tanh"}, {"LeakyRelu", "LeakyRelu"}};

static void
fused_products_have_the_bits_of_the_nodes_that_they_replace(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ACTIVATIONS); i++) {
        RunFixture fixture;
        fixture_begin(&fixture, 2);
        char text[1024];
        snprintf(text, sizeof text,
            "a = _Arg() T=float32 index=0\n"
            "w = Const() dtype=float32 value=float32<70,45>(0.03)\n"
            "b = Const() dtype=float32 value=float32<45>(0.7)\n"
            "f = _FusedMatMul(a, w, b) T=float32 num_args=1 fused_ops=['BiasAdd','%s']\n"
            "p = MatMul(a, w) T=float32\ns = BiasAdd(p, b) T=float32\ny = %s(s) T=float32\n"
            "first = _Retval(f) T=float32 index=0\nsecond = _Retval(y) T=float32 index=1\n",
            ACTIVATIONS[i].step, ACTIVATIONS[i].op);
        AUTO_PARTITION partition = fixture_compile(&fixture, text);
        (void)fixture_fast_node(partition, "f");
        RunOutcome outcome = {0};
        Tensor arg = rough(&fixture, 300, 70);
        for (int64_t n = 0; n < 300 * 70; n++) {
            ((float *)arg.data)[n] *= (float)(n % 977) * 1e-4F;
        }
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_same_bits(&outcome.outputs[0], &outcome.outputs[1]);
        outcome_clear(&outcome);
        partition_unref(TAKE(partition));
        fixture_end(&fixture);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_any_shape_are_right),
        cmocka_unit_test(empty_products_are_empty_or_zero),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(gemm_scales_and_adds),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(a_row_alone_is_what_it_is_in_a_batch),
        cmocka_unit_test(fused_products_have_the_bits_of_the_nodes_that_they_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
