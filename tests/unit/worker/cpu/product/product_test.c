#include "tests/support/cmocka_all.h"

#include <math.h>

#include "shared/base/memory.h"
#include "tests/support/call_fixture.h"
#include "worker/cpu/device.h"
#include "worker/cpu/product/product.h"
#include "worker/cpu/vector/isa.h"

/* One product, its operands and what it is computed on. */
typedef struct Trial {
    Call call;
    Device *device;
    ProductShape shape;
    bool is_constant; /* the second matrix is packed as weights */
    float *a;
    float *b;
    float *output;
    float *expected;
} Trial;

static float *
floats(int64_t count)
{
    float *made = memory_new((size_t)count + 1, sizeof *made);
    assert_non_null(made);
    return made;
}

/* Numbers whose sums depend on the order of summation and on every rounding. */
static void
fill_rough(float *numbers, int64_t count, int64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = sinf((float)((i * 31 + seed) % 9973)) * (i % 3 == 0 ? 1000.0F : 0.01F);
    }
}

static void
trial_begin(Trial *trial, int thread_count, int64_t m, int64_t n, int64_t k)
{
    CpuDeviceOptions options = {.thread_count = thread_count, .memory_limit = 1 << 30};
    *trial = (Trial){.call.arena = arena_new(1 << 20), .shape = {.m = m, .n = n, .k = k, .alpha = 1}};
    assert_status(&trial->call, STATUS_OK, cpu_device_new(&trial->call, &options, &trial->device));
    trial->a = floats(m * k);
    trial->b = floats(k * n);
    trial->output = floats(m * n);
    trial->expected = floats(m * n);
    fill_rough(trial->a, m * k, 1);
    fill_rough(trial->b, k * n, 2);
}

static void
trial_end(Trial *trial)
{
    memory_free(trial->a);
    memory_free(trial->b);
    memory_free(trial->output);
    memory_free(trial->expected);
    cpu_device_free(trial->device);
    arena_free(trial->call.arena);
}

static ProductOperands
trial_operands(const Trial *trial)
{
    return (ProductOperands){.a = trial->a, .b = trial->b, .output = trial->output};
}

static void
trial_run(Trial *trial, const ProductOperands *operands)
{
    Product *product = NULL;
    assert_status(&trial->call, STATUS_OK, product_new(&trial->call, &product));
    if (trial->is_constant) {
        product_set_weights(product, operands->b);
    }
    assert_status(
        &trial->call, STATUS_OK, product_run(&trial->call, product, trial->device, &trial->shape, operands));
    product_free(product);
}

/* Computes a product by its definition. */
static void
multiply_plainly(const ProductShape *shape, const float *a, const float *b, float *output)
{
    for (int64_t row = 0; row < shape->m; row++) {
        for (int64_t column = 0; column < shape->n; column++) {
            float sum = 0;
            for (int64_t k = 0; k < shape->k; k++) {
                float left = shape->transposes_a ? a[k * shape->m + row] : a[row * shape->k + k];
                float right = shape->transposes_b ? b[column * shape->k + k] : b[k * shape->n + column];
                sum = fmaf(left, right, sum);
            }
            output[row * shape->n + column] = sum;
        }
    }
}

/* NaN is the same as any other NaN: its sign and payload are the processor's. */
static void
assert_same_floats(const ProductShape *shape, const float *expected, const float *actual)
{
    for (int64_t i = 0; i < shape->m * shape->n; i++) {
        bool are_nan = isnan(expected[i]) && isnan(actual[i]);
        if (!are_nan && memcmp(&expected[i], &actual[i], sizeof *expected) != 0) {
            fail_msg("%lld x %lld x %lld: element %lld is %a, not %a", (long long)shape->m,
                (long long)shape->k, (long long)shape->n, (long long)i, (double)actual[i],
                (double)expected[i]);
        }
    }
}

/* Rows: alone, fewer and more than of a micro-tile, several blocks; columns: of one panel, of several, and
 * none that fills the last one; inner dimensions: shorter and longer than a block. */
static const int64_t SHAPES[][3] = {{1, 1, 1}, {1, 7, 0}, {1, 33, 300}, {1, 128, 70}, {1, 600, 70},
    {2, 16, 257}, {2, 48, 9}, {3, 47, 31}, {3, 96, 512}, {4, 64, 600}, {5, 1, 1000}, {6, 17, 256}, {7, 31, 5},
    {11, 32, 64}, {12, 33, 513}, {13, 255, 3}, {25, 513, 129}, {31, 10, 1025}, {143, 65, 17}, {145, 16, 16},
    {197, 197, 20}, {289, 97, 7}, {600, 19, 31}, {577, 1, 40}};

static const CpuIsa ISAS[] = {CPU_ISA_PLAIN, CPU_ISA_AVX2, CPU_ISA_AVX512};

/* Runs each form of a product: constant weights or not, either matrix transposed or not. */
static void
compare_forms(Trial *trial)
{
    ProductOperands operands = trial_operands(trial);
    for (int form = 0; form < 8; form++) {
        trial->is_constant = (form & 1) != 0;
        trial->shape.transposes_a = (form & 2) != 0;
        trial->shape.transposes_b = (form & 4) != 0;
        multiply_plainly(&trial->shape, trial->a, trial->b, trial->expected);
        for (size_t isa = 0; isa < COUNT_OF(ISAS); isa++) {
            cpu_isa_limit(ISAS[isa]);
            trial_run(trial, &operands);
            assert_same_floats(&trial->shape, trial->expected, trial->output);
        }
    }
}

static void
every_output_is_one_chain_on_every_instruction_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        Trial trial;
        trial_begin(&trial, 2, SHAPES[i][0], SHAPES[i][1], SHAPES[i][2]);
        compare_forms(&trial);
        trial_end(&trial);
    }
}

static void
any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads *= 2) {
        Trial trial;
        trial_begin(&trial, threads, 300, 530, 45);
        compare_forms(&trial);
        trial_end(&trial);
    }
}

static void
a_row_alone_has_the_bits_that_it_has_among_others(void **state)
{
    (void)state;
    enum { ROWS = 155, COLUMNS = 330, DEPTH = 260 };
    Trial trial;
    trial_begin(&trial, 2, ROWS, COLUMNS, DEPTH);
    ProductOperands operands = trial_operands(&trial);
    for (int form = 0; form < 2; form++) {
        trial.is_constant = form == 1;
        trial.shape.m = ROWS;
        trial_run(&trial, &operands);
        memcpy(trial.expected, trial.output, sizeof(float) * ROWS * COLUMNS);
        trial.shape.m = 1;
        for (int64_t row = 0; row < ROWS; row++) {
            ProductOperands alone = operands;
            alone.a += row * DEPTH;
            trial_run(&trial, &alone);
            assert_same_floats(&trial.shape, trial.expected + row * COLUMNS, trial.output);
        }
    }
    trial_end(&trial);
}

static void
nan_infinities_and_denormals_are_as_in_the_loop(void **state)
{
    (void)state;
    static const float edges[] = {
        NAN, INFINITY, -INFINITY, 0.0F, -0.0F, 1e-40F, -1e-45F, 3e38F, -3e38F, 1e-20F};
    Trial trial;
    trial_begin(&trial, 1, 29, 37, 5);
    for (int64_t i = 0; i < 29; i++) {
        trial.a[i * 5 + i % 5] = edges[(size_t)i % COUNT_OF(edges)];
        trial.b[i * 6] = edges[(size_t)(i / 3) % COUNT_OF(edges)];
    }
    compare_forms(&trial);
    trial_end(&trial);
}

/* alpha, what the output held, a bias, an addend and an activation are each rounded by themselves. */
static void
a_finished_product_is_the_product_finished(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{7, 45, 300}, {1, 64, 9}, {150, 96, 40}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        Trial trial;
        trial_begin(&trial, 2, shapes[i][0], shapes[i][1], shapes[i][2]);
        int64_t size = trial.shape.m * trial.shape.n;
        float *bias = floats(trial.shape.n);
        float *addend = floats(size);
        fill_rough(bias, trial.shape.n, 3);
        fill_rough(addend, size, 4);
        fill_rough(trial.output, size, 5);
        multiply_plainly(&trial.shape, trial.a, trial.b, trial.expected);
        for (int64_t n = 0; n < size; n++) {
            float sum = trial.expected[n] * 0.3F + trial.output[n] + bias[n % trial.shape.n] + addend[n];
            trial.expected[n] = sum < 0 ? 0 : sum;
        }
        trial.shape.alpha = 0.3F;
        trial.shape.accumulates = true;
        trial.shape.finish = finish_of(&(Epilogue){.activation = EPILOGUE_RELU});
        ProductOperands operands = trial_operands(&trial);
        operands.bias = bias;
        operands.addend = addend;
        trial_run(&trial, &operands);
        assert_same_floats(&trial.shape, trial.expected, trial.output);
        memory_free(bias);
        memory_free(addend);
        trial_end(&trial);
    }
}

/* Entry (i, j) of the batch is matrix i of a by matrix j of b. */
static void
batches_broadcast(void **state)
{
    (void)state;
    enum { M = 9, N = 21, K = 13 };
    Trial trial;
    trial_begin(&trial, 2, 6 * M, N, 2 * K);
    ProductOperands operands = trial_operands(&trial);
    operands.batch_rank = 2;
    operands.batch_dims[0] = 3;
    operands.batch_dims[1] = 2;
    operands.a_strides[0] = 1;
    operands.b_strides[1] = 1;
    trial.shape.m = M;
    trial.shape.k = K;
    trial_run(&trial, &operands);
    for (int64_t entry = 0; entry < 6; entry++) {
        multiply_plainly(
            &trial.shape, trial.a + entry / 2 * M * K, trial.b + entry % 2 * K * N, trial.expected);
        assert_same_floats(&trial.shape, trial.expected, trial.output + entry * M * N);
    }
    trial_end(&trial);
}

/* A run of one tile takes what was forecast, but for the rounding of its blocks' sizes and what a thread has
 * not counted yet (memory_account.h). */
static void
the_forecast_is_what_a_run_takes(void **state)
{
    (void)state;
    enum { UNCOUNTED = 64 * 1024 };
    for (int form = 0; form < 8; form++) {
        Trial trial;
        DeviceMemory memory = {0};
        trial_begin(&trial, 1, 144, (form & 4) != 0 ? 32 : 30, 256);
        trial.shape.transposes_b = (form & 1) != 0;
        trial.shape.accumulates = (form & 2) != 0;
        Product *product = NULL;
        assert_status(&trial.call, STATUS_OK, product_new(&trial.call, &product));
        ProductOperands operands = trial_operands(&trial);
        assert_status(
            &trial.call, STATUS_OK, product_run(&trial.call, product, trial.device, &trial.shape, &operands));
        trial.device->memory(trial.device, &memory);
        uint64_t told = product_scratch(product, trial.device, &trial.shape, 1);
        assert_true(told > 2 * UNCOUNTED);
        assert_in_range(memory.peak, told - UNCOUNTED, told + told / 4 + UNCOUNTED);
        product_free(product);
        trial_end(&trial);
    }
}

static void
a_product_without_memory_fails(void **state)
{
    (void)state;
    Trial trial;
    trial_begin(&trial, 1, 100, 1000, 300);
    CpuDeviceOptions options = {.thread_count = 2, .memory_limit = 64 * 1024};
    cpu_device_free(trial.device);
    assert_status(&trial.call, STATUS_OK, cpu_device_new(&trial.call, &options, &trial.device));
    Product *product = NULL;
    ProductOperands operands = trial_operands(&trial);
    assert_status(&trial.call, STATUS_OK, product_new(&trial.call, &product));
    assert_status(&trial.call, STATUS_RESOURCE_EXHAUSTED,
        product_run(&trial.call, product, trial.device, &trial.shape, &operands));
    assert_non_null(strstr(trial.call.error.message, "a tile of a matrix product needs"));
    product_set_weights(product, trial.b);
    assert_status(&trial.call, STATUS_RESOURCE_EXHAUSTED,
        product_run(&trial.call, product, trial.device, &trial.shape, &operands));
    assert_non_null(strstr(trial.call.error.message, "packed weights need"));
    product_free(product);
    trial_end(&trial);
}

static int
all_instruction_sets_again(void **state)
{
    (void)state;
    cpu_isa_limit(CPU_ISA_AVX512);
    return 0;
}

static int64_t piece_count;

/* Stands for the device's parallel_for(). */
static void
count_pieces(Device *device, int64_t count, void (*body)(void *context, int64_t index), void *context)
{
    (void)device;
    piece_count = count;
    for (int64_t index = 0; index < count; index++) {
        body(context, index);
    }
}

/* Returns into how many pieces threads may divide a product with constant weights. */
static int64_t
pieces_of(int64_t m, int64_t n, int64_t k)
{
    Trial trial;
    trial_begin(&trial, 1, m, n, k);
    ProductOperands operands = trial_operands(&trial);
    trial.device->parallel_for = count_pieces;
    trial.is_constant = true;
    trial_run(&trial, &operands);
    trial_end(&trial);
    return piece_count;
}

/* Short: some tens of microseconds. */
static void
a_short_product_is_cut_into_pieces_for_several_threads(void **state)
{
    (void)state;
    assert_in_range(pieces_of(1, 1000, 576), 4, 32);
    assert_in_range(pieces_of(200, 256, 128), 3, 32);
    assert_in_range(pieces_of(40, 384, 96), 2, 32);
    assert_int_equal(pieces_of(4, 64, 64), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            every_output_is_one_chain_on_every_instruction_set, all_instruction_sets_again),
        cmocka_unit_test_teardown(any_number_of_threads_gives_the_same_bits, all_instruction_sets_again),
        cmocka_unit_test(a_row_alone_has_the_bits_that_it_has_among_others),
        cmocka_unit_test_teardown(
            nan_infinities_and_denormals_are_as_in_the_loop, all_instruction_sets_again),
        cmocka_unit_test(a_finished_product_is_the_product_finished),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(the_forecast_is_what_a_run_takes),
        cmocka_unit_test(a_short_product_is_cut_into_pieces_for_several_threads),
        cmocka_unit_test(a_product_without_memory_fails),
    };
    return cmocka_run_group_tests_name("worker/cpu/product", tests, NULL, NULL);
}
