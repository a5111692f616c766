/* cuBLASLt's rules, computed by the plain kernel: the library is column-major, and what is asked of it is
 * read back from the descriptors that it was given. With CUDA_LIBRARIES the real library makes all
 * descriptors, too. */
#include <math.h>

#include "shared/tensor/half.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "worker/cuda/blas/plan.h"
#include "worker/cuda/blas/product.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/library.h"

static const Dtype floats[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64};

typedef struct FakeLayout {
    int64_t rows;
    int64_t columns;
    int64_t step;
    int64_t batch_step;
    int32_t batch;
    cudaDataType type;
} FakeLayout;

typedef struct FakeProduct {
    cublasOperation_t left;
    cublasOperation_t right;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    cublasComputeType_t compute;
} FakeProduct;

static struct {
    int heuristics; /* how often an algorithm was asked for */
    int products;
    int descriptors; /* that are not destroyed */
    cublasStatus_t create_status;
    cublasStatus_t heuristic_status;
    cublasStatus_t product_status;
    cublasStatus_t activation_status; /* of heuristics for products with an activation */
    bool loses_nan;                   /* in ReLU */
    CudaActivation gelu;              /* what GELU is */
    cublasLtEpilogue_t last_epilogue; /* of a product */
    cublasComputeType_t last_compute;
} fake;

static cublasStatus_t
fake_create(cublasLtHandle_t *handle)
{
    if (fake.create_status == CUBLAS_STATUS_SUCCESS) {
        *handle = (cublasLtHandle_t)(void *)&fake;
    }
    return fake.create_status;
}

static cublasStatus_t
fake_destroy(cublasLtHandle_t handle)
{
    assert_ptr_equal(handle, &fake);
    return CUBLAS_STATUS_SUCCESS;
}

static const char *
fake_status_name(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED" : "another";
}

static cublasStatus_t
fake_layout_create(
    cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
    FakeLayout *made = memory_new(1, sizeof *made);
    assert_non_null(made);
    *made =
        (FakeLayout){.rows = (int64_t)rows, .columns = (int64_t)cols, .step = ld, .batch = 1, .type = type};
    assert_true(ld >= made->rows);
    fake.descriptors++;
    *layout = (cublasLtMatrixLayout_t)(void *)made;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_layout_destroy(cublasLtMatrixLayout_t layout)
{
    fake.descriptors--;
    memory_free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_layout_set(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void *value, size_t size)
{
    FakeLayout *set = (FakeLayout *)(void *)layout;
    bool is_count = attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
    assert_true(is_count || attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
    assert_int_equal(size, is_count ? sizeof set->batch : sizeof set->batch_step);
    memcpy(is_count ? (void *)&set->batch : (void *)&set->batch_step, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_product_create(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute, cudaDataType_t scale)
{
    assert_int_equal(compute == CUBLAS_COMPUTE_64F, scale == CUDA_R_64F);
    FakeProduct *made = memory_new(1, sizeof *made);
    assert_non_null(made);
    made->compute = compute;
    fake.descriptors++;
    *desc = (cublasLtMatmulDesc_t)(void *)made;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_product_destroy(cublasLtMatmulDesc_t desc)
{
    fake.descriptors--;
    memory_free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_product_set(
    cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t size)
{
    FakeProduct *set = (FakeProduct *)(void *)desc;
    cudaDataType ignored;
    const struct {
        cublasLtMatmulDescAttributes_t attribute;
        void *value;
        size_t size;
    } rows[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &set->left, sizeof set->left},
        {CUBLASLT_MATMUL_DESC_TRANSB, &set->right, sizeof set->right},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &set->epilogue, sizeof set->epilogue},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &set->bias, sizeof set->bias},
        {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &ignored, sizeof ignored},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        if (rows[index].attribute == attribute) {
            assert_int_equal(size, rows[index].size);
            memcpy(rows[index].value, value, size);
            return CUBLAS_STATUS_SUCCESS;
        }
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t
fake_preference_create(cublasLtMatmulPreference_t *preference)
{
    *preference = memory_new(1, sizeof **preference);
    fake.descriptors++;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_preference_destroy(cublasLtMatmulPreference_t preference)
{
    fake.descriptors--;
    memory_free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_preference_set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
    const void *value, size_t size)
{
    assert_non_null(preference);
    assert_non_null(value);
    assert_int_equal(size, attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? 8 : 4);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t results[],
    int *ret_count)
{
    assert_true(handle != NULL && desc != NULL && a != NULL && b != NULL && c != NULL && d != NULL);
    assert_true(preference != NULL && wanted == 1);
    cublasLtEpilogue_t epilogue = ((const FakeProduct *)(const void *)desc)->epilogue;
    bool is_activated = epilogue != CUBLASLT_EPILOGUE_DEFAULT && epilogue != CUBLASLT_EPILOGUE_BIAS;
    cublasStatus_t status = is_activated ? fake.activation_status : fake.heuristic_status;
    fake.heuristics++;
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *ret_count = status == CUBLAS_STATUS_SUCCESS ? 1 : 0;
    return status;
}

static CudaType
type_of(cudaDataType type)
{
    return type == CUDA_R_16F    ? CUDA_FLOAT16
           : type == CUDA_R_16BF ? CUDA_BFLOAT16
           : type == CUDA_R_32F  ? CUDA_FLOAT32
                                 : CUDA_FLOAT64;
}

/* Views a column-major matrix as what the plain kernel takes: its rows are `row` apart in memory. */
static CudaMatrix
view(const void *data, const FakeLayout *layout, bool is_turned)
{
    return (CudaMatrix){.data = data,
        .row_step = is_turned ? layout->step : 1,
        .column_step = is_turned ? 1 : layout->step,
        .batch_steps = {layout->batch_step}};
}

/* Returns what an epilogue does to sums, of which those that add a bias are given one. */
static CudaEpilogue
read_epilogue(const FakeProduct *product)
{
    bool is_relu =
        product->epilogue == CUBLASLT_EPILOGUE_RELU || product->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    bool is_gelu =
        product->epilogue == CUBLASLT_EPILOGUE_GELU || product->epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
    bool has_bias = product->epilogue == CUBLASLT_EPILOGUE_BIAS ||
                    product->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
                    product->epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
    return (CudaEpilogue){.bias = has_bias ? product->bias : NULL,
        .activation = is_relu   ? CUDA_ACTIVATION_RELU
                      : is_gelu ? fake.gelu
                                : CUDA_ACTIVATION_NONE};
}

/* Writes 0 over each NaN, in memory that the host sees: that in which the library is asked. */
static void
lose_nan(void *numbers, const FakeLayout *layout, cudaStream_t stream)
{
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    for (int64_t index = 0; index < layout->rows * layout->columns; index++) {
        if (layout->type == CUDA_R_32F) {
            float *number = (float *)numbers + index;
            *number = isnan(*number) ? 0 : *number;
        } else {
            uint16_t *bits = (uint16_t *)numbers + index;
            float number = layout->type == CUDA_R_16F ? half_to_float(*bits) : bfloat16_to_float(*bits);
            *bits = isnan(number) ? 0 : *bits;
        }
    }
}

/* D = alpha × op(A) × op(B) + beta × C. The plain kernel's output is row-major, so it computes Dᵀ. */
static cublasStatus_t
fake_matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
    cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
    const void *c, cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
    const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_size, cudaStream_t stream)
{
    const FakeProduct *product = (const FakeProduct *)(const void *)desc;
    const FakeLayout *left = (const FakeLayout *)(const void *)a_layout;
    const FakeLayout *right = (const FakeLayout *)(const void *)b_layout;
    const FakeLayout *addend = (const FakeLayout *)(const void *)c_layout;
    const FakeLayout *output = (const FakeLayout *)(const void *)d_layout;
    bool is_double = output->type == CUDA_R_64F;
    assert_true(handle != NULL && algo != NULL && workspace != NULL && workspace_size == (size_t)4 << 20);
    assert_int_equal(output->step, output->rows);
    assert_int_equal(product->left == CUBLAS_OP_N ? left->rows : left->columns, output->rows);
    assert_int_equal(product->right == CUBLAS_OP_N ? right->columns : right->rows, output->columns);
    fake.products++;
    if (fake.product_status != CUBLAS_STATUS_SUCCESS) {
        return fake.product_status;
    }
    CudaProduct plain = {
        .a = view(b, right, product->right == CUBLAS_OP_N),
        .b = view(a, left, product->left == CUBLAS_OP_N),
        .output = d,
        .rows = output->columns,
        .columns = output->rows,
        .depth = product->left == CUBLAS_OP_N ? left->columns : left->rows,
        .batch_rank = 1,
        .batch_sizes = {output->batch},
        .alpha = is_double ? (float)*(const double *)alpha : *(const float *)alpha,
        .beta = is_double ? (float)*(const double *)beta : *(const float *)beta,
        .epilogue = read_epilogue(product),
    };
    fake.last_epilogue = product->epilogue;
    fake.last_compute = product->compute;
    if (plain.beta != 0) {
        plain.c = view(c, addend, true);
    }
    if (cuda_multiply(type_of(output->type), &plain, stream) != cudaSuccess) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (fake.loses_nan && plain.epilogue.activation == CUDA_ACTIVATION_RELU) {
        lose_nan(d, output, stream);
    }
    return CUBLAS_STATUS_SUCCESS;
}

static const CudaBlas fake_blas = {
    .cublasLtCreate = fake_create,
    .cublasLtDestroy = fake_destroy,
    .cublasLtGetStatusName = fake_status_name,
    .cublasLtMatmul = fake_matmul,
    .cublasLtMatmulAlgoGetHeuristic = fake_heuristic,
    .cublasLtMatmulDescCreate = fake_product_create,
    .cublasLtMatmulDescDestroy = fake_product_destroy,
    .cublasLtMatmulDescSetAttribute = fake_product_set,
    .cublasLtMatmulPreferenceCreate = fake_preference_create,
    .cublasLtMatmulPreferenceDestroy = fake_preference_destroy,
    .cublasLtMatmulPreferenceSetAttribute = fake_preference_set,
    .cublasLtMatrixLayoutCreate = fake_layout_create,
    .cublasLtMatrixLayoutDestroy = fake_layout_destroy,
    .cublasLtMatrixLayoutSetAttribute = fake_layout_set,
};

/* The module's functions, in place of its own. */
void
cuda_libraries_open(const char *folders)
{
    (void)folders;
}

const PluginLibrary *
cuda_libraries(size_t *ret_count)
{
    *ret_count = 0;
    return NULL;
}

const CudaBlas *
cuda_blas(void)
{
    return &fake_blas;
}

const CudaDnn *
cuda_dnn(void)
{
    return NULL;
}

const CudaCupti *
cuda_cupti(const char **ret_reason)
{
    *ret_reason = "none is played";
    return NULL;
}

const CudaNvrtc *
cuda_nvrtc(void)
{
    return NULL;
}

static int
reset_fake(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.gelu = CUDA_ACTIVATION_GELU_TANH;
    return 0;
}

/* Runs the cases, of which all but `left` are to be computed by the library. */
static void
compare(const CudaKernelCase *cases, size_t count, const Dtype *dtypes, size_t dtype_count, uint64_t left)
{
    uint64_t before = blas_refusals(BLAS_ACCEPTED);
    (void)cuda_kernels_set_up(NULL);
    cuda_kernels_compare_in(cases, count, dtypes, dtype_count);
    (void)cuda_kernels_tear_down(NULL);
    assert_int_equal(blas_refusals(BLAS_ACCEPTED) - before, count * dtype_count - left);
    assert_int_equal(fake.descriptors, 0);
}

static void
row_major_products_are_computed_as_transposed_ones(void **state)
{
    (void)state;
    const CudaKernelCase cases[] = {
        {.op = "MatMul", .inputs = {"T[1,1] numbers 1", "T[1,1] numbers 2"}},
        {.op = "MatMul", .inputs = {"T[5,7] numbers 1", "T[7,3] numbers 2"}},
        {.op = "MatMul", .attrs = "transpose_a=true", .inputs = {"T[5,4] numbers 1", "T[5,3] numbers 2"}},
        {.op = "MatMul", .attrs = "transpose_b=true", .inputs = {"T[4,5] numbers 1", "T[3,5] numbers 2"}},
        {.op = "MatMul",
            .attrs = "transpose_a=true; transpose_b=true",
            .inputs = {"T[5,4] numbers 1", "T[3,5] numbers 2"}},
        {.op = "MatMul", .attrs = "transpose_a=true", .inputs = {"T[5,1] numbers 1", "T[5,3] numbers 2"}},
        {.op = "MatMul", .attrs = "transpose_b=true", .inputs = {"T[1,5] numbers 1", "T[1,5] numbers 2"}},
        {.op = "onnx::MatMul", .inputs = {"T[7] numbers 1", "T[7,3] numbers 2"}},
        {.op = "onnx::MatMul", .inputs = {"T[3,7] numbers 1", "T[7] numbers 2"}},
    };
    compare(cases, COUNT_OF(cases), floats, COUNT_OF(floats), 0);
}

static void
batches_have_one_step_or_go_to_the_plain_kernel(void **state)
{
    (void)state;
    const CudaKernelCase cases[] = {
        {.op = "BatchMatMulV2", .inputs = {"T[3,4,5] numbers 1", "T[3,5,6] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[2,3,4,5] numbers 1", "T[2,3,5,6] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[2,3,4,5] numbers 1", "T[5,6] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[4,5] numbers 1", "T[2,3,5,6] numbers 2"}},
        {.op = "BatchMatMulV2",
            .attrs = "adj_x=true; adj_y=true",
            .inputs = {"T[1,3,5,4] numbers 1", "T[1,3,6,5] numbers 2"}},
        {.op = "BatchMatMulV2", .inputs = {"T[2,1,4,5] numbers 1", "T[3,5,6] numbers 2"}},
    };
    compare(cases, COUNT_OF(cases), floats, COUNT_OF(floats), COUNT_OF(floats));
}

static void
addends_are_a_matrix_or_a_bias(void **state)
{
    (void)state;
    const CudaKernelCase cases[] = {
        {.op = "onnx::Gemm", .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2", "T[5] numbers 3"}},
        {.op = "onnx::Gemm",
            .attrs = "alpha=0.5; beta=0.25",
            .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2", "T[3,5] numbers 3"}},
        {.op = "onnx::Gemm", .attrs = "alpha=2", .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2"}},
        {.op = "_FusedMatMul",
            .attrs = "fused_ops=[BiasAdd,Add,Relu]",
            .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2", "T[5] numbers 3", "T[3,5] numbers 4"}},
        {.op = "_FusedMatMul",
            .attrs = "fused_ops=[Tanh]",
            .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2"}},
        {.op = "_FusedBatchMatMulV2",
            .attrs = "fused_ops=[BiasAdd]",
            .inputs = {"T[2,3,4] numbers 1", "T[2,4,5] numbers 2", "T[5] numbers 3"}},
        {.op = "onnx::Gemm", .inputs = {"T[3,4] numbers 1", "T[4,5] numbers 2", "T[3,1] numbers 3"}},
    };
    compare(cases, COUNT_OF(cases), floats, COUNT_OF(floats), COUNT_OF(floats));
}

#define FUSED_PRODUCT(steps, ...)                                                                            \
    {                                                                                                        \
        .op = "_FusedMatMul", .attrs = "fused_ops=[" steps "]", .inputs = {                                  \
            "T[3,4] numbers 1",                                                                              \
            "T[4,5] numbers 2",                                                                              \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

static const Dtype activated[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32};

/* An activation, and what the library does of a product with it. */
typedef struct ActivationCase {
    CudaKernelCase product;
    cublasLtEpilogue_t epilogue;
} ActivationCase;

static void
compare_activations(const ActivationCase *cases, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        for (size_t dtype = 0; dtype < COUNT_OF(activated); dtype++) {
            compare(&cases[index].product, 1, &activated[dtype], 1, 0);
            assert_int_equal(fake.last_epilogue, cases[index].epilogue);
        }
    }
}

static void
activations_that_equal_ours_are_the_librarys(void **state)
{
    (void)state;
    static const ActivationCase cases[] = {
        {FUSED_PRODUCT("BiasAdd,Relu", "T[5] numbers 3"), CUBLASLT_EPILOGUE_RELU_BIAS},
        {FUSED_PRODUCT("Relu", NULL), CUBLASLT_EPILOGUE_RELU},
        {FUSED_PRODUCT("BiasAdd,GeluApproximate", "T[5] numbers 3"), CUBLASLT_EPILOGUE_GELU_BIAS},
        {FUSED_PRODUCT("GeluApproximate", NULL), CUBLASLT_EPILOGUE_GELU},
    };
    compare_activations(cases, COUNT_OF(cases));
}

/* Asking takes two products with a bias and two without. */
static void
an_activation_is_asked_about_once_for_each_type(void **state)
{
    (void)state;
    enum { PRODUCTS_OF_A_QUESTION = 4 };
    const CudaKernelCase cases[] = {FUSED_PRODUCT("BiasAdd,Relu", "T[5] numbers 3"),
        FUSED_PRODUCT("Relu", NULL), FUSED_PRODUCT("BiasAdd,Relu", "T[5] numbers 3")};
    compare(cases, COUNT_OF(cases), activated, COUNT_OF(activated), 0);
    assert_int_equal(fake.products, (PRODUCTS_OF_A_QUESTION + COUNT_OF(cases)) * COUNT_OF(activated));
}

static void
activations_that_are_not_ours_are_left_to_our_kernel(void **state)
{
    (void)state;
    static const ActivationCase cases[] = {
        {FUSED_PRODUCT("BiasAdd,Relu", "T[5] numbers 3"), CUBLASLT_EPILOGUE_BIAS},
        {FUSED_PRODUCT("Relu", NULL), CUBLASLT_EPILOGUE_DEFAULT},
        {FUSED_PRODUCT("BiasAdd,GeluApproximate", "T[5] numbers 3"), CUBLASLT_EPILOGUE_BIAS},
        {FUSED_PRODUCT("Tanh", NULL), CUBLASLT_EPILOGUE_DEFAULT},
    };
    fake.loses_nan = true;
    fake.gelu = CUDA_ACTIVATION_RELU;
    compare_activations(cases, COUNT_OF(cases));
}

/* The two GELUs differ by less than numbers of 16 bits tell, but not by less than float32 does. */
static void
a_gelu_by_the_error_function_is_not_that_by_tanh(void **state)
{
    (void)state;
    static const Dtype one[] = {DTYPE_FLOAT32};
    static const CudaKernelCase by_tanh = FUSED_PRODUCT("BiasAdd,GeluApproximate", "T[5] numbers 3");
    static const CudaKernelCase exact = FUSED_PRODUCT("BiasAdd,GeluExact", "T[5] numbers 3");
    fake.gelu = CUDA_ACTIVATION_GELU;
    compare(&by_tanh, 1, one, 1, 0);
    assert_int_equal(fake.last_epilogue, CUBLASLT_EPILOGUE_BIAS);
    fake.products = 0;
    compare(&exact, 1, one, 1, 0);
    assert_int_equal(fake.last_epilogue, CUBLASLT_EPILOGUE_BIAS);
    assert_int_equal(fake.products, 1); /* without a question */
}

static void
activations_that_the_library_refuses_are_computed_behind(void **state)
{
    (void)state;
    static const ActivationCase cases[] = {
        {FUSED_PRODUCT("BiasAdd,Relu", "T[5] numbers 3"), CUBLASLT_EPILOGUE_BIAS},
        {FUSED_PRODUCT("GeluApproximate", NULL), CUBLASLT_EPILOGUE_DEFAULT},
    };
    fake.activation_status = CUBLAS_STATUS_NOT_SUPPORTED;
    compare_activations(cases, COUNT_OF(cases));
}

static void
an_algorithm_is_chosen_once_for_each_shape(void **state)
{
    (void)state;
    static const Dtype one[] = {DTYPE_FLOAT32};
    CudaKernelCase product = {.op = "MatMul", .inputs = {"T[5,7] numbers 1", "T[7,3] numbers 2"}};
    CudaKernelCase other = {.op = "MatMul", .inputs = {"T[5,7] numbers 1", "T[7,4] numbers 2"}};
    const CudaKernelCase cases[] = {product, product, other, product, other};
    compare(cases, COUNT_OF(cases), one, 1, 0);
    assert_int_equal(fake.products, COUNT_OF(cases));
    assert_int_equal(fake.heuristics, 2);
}

static void
float32_is_multiplied_in_tf32_only_where_that_is_allowed(void **state)
{
    (void)state;
    static const cublasComputeType_t allowed[] = {
        CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F};
    CudaKernelCase product = {.op = "MatMul", .inputs = {"T[5,7] numbers 1", "T[7,3] numbers 2"}};
    _Static_assert(COUNT_OF(allowed) == COUNT_OF(floats), "one for each dtype");
    for (size_t index = 0; index < COUNT_OF(floats); index++) {
        compare(&product, 1, &floats[index], 1, 0);
        assert_int_equal(
            fake.last_compute, floats[index] == DTYPE_FLOAT64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F);
        (void)cuda_kernels_set_up(NULL);
        cuda_kernels_allow_tf32(true);
        cuda_kernels_compare_in(&product, 1, &floats[index], 1);
        (void)cuda_kernels_tear_down(NULL);
        assert_int_equal(fake.last_compute, allowed[index]);
    }
}

/* A question about an activation takes four products, and is asked twice. */
static void
a_plan_in_tf32_is_another_plan(void **state)
{
    (void)state;
    enum { PRODUCTS_OF_QUESTIONS = 2 * 4, PLANS = 2 };
    static const Dtype one[] = {DTYPE_FLOAT32};
    static const bool turns[] = {false, true, false, true};
    CudaKernelCase product = FUSED_PRODUCT("BiasAdd,Relu", "T[5] numbers 3");
    (void)cuda_kernels_set_up(NULL);
    for (size_t turn = 0; turn < COUNT_OF(turns); turn++) {
        cuda_kernels_allow_tf32(turns[turn]);
        cuda_kernels_compare_in(&product, 1, one, 1);
        assert_int_equal(fake.last_compute, turns[turn] ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
    }
    (void)cuda_kernels_tear_down(NULL);
    assert_int_equal(fake.products, PRODUCTS_OF_QUESTIONS + COUNT_OF(turns));
    assert_int_equal(fake.heuristics, PRODUCTS_OF_QUESTIONS + PLANS);
}

static void
products_of_bytes_are_never_rounded_to_tf32(void **state)
{
    (void)state;
    static const Dtype one[] = {DTYPE_INT8};
    CudaKernelCase product = {.op = "onnx::QLinearMatMul",
        .inputs = {"T[3,4] numbers 1", "float32[] 0.5", "T[] 1", "T[4,5] numbers 2", "float32[] 0.25",
            "T[] 2", "float32[] 0.5", "T[] 3"}};
    (void)cuda_kernels_set_up(NULL);
    cuda_kernels_allow_tf32(true);
    cuda_kernels_compare_in(&product, 1, one, 1);
    (void)cuda_kernels_tear_down(NULL);
    assert_int_equal(fake.products, 1);
    assert_int_equal(fake.last_compute, CUBLAS_COMPUTE_32F);
}

static void
what_the_library_refuses_is_asked_once_and_computed_plainly(void **state)
{
    (void)state;
    static const Dtype one[] = {DTYPE_FLOAT32};
    CudaKernelCase product = {.op = "MatMul", .inputs = {"T[5,7] numbers 1", "T[7,3] numbers 2"}};
    const CudaKernelCase cases[] = {product, product};
    uint64_t before = blas_refusals(BLAS_NO_ALGORITHM);
    fake.heuristic_status = CUBLAS_STATUS_NOT_SUPPORTED;
    compare(cases, COUNT_OF(cases), one, 1, COUNT_OF(cases));
    assert_int_equal(fake.heuristics, 1);
    assert_int_equal(fake.products, 0);
    fake.heuristic_status = CUBLAS_STATUS_SUCCESS;
    fake.product_status = CUBLAS_STATUS_NOT_SUPPORTED;
    compare(cases, COUNT_OF(cases), one, 1, COUNT_OF(cases));
    assert_int_equal(fake.products, 1);
    assert_int_equal(blas_refusals(BLAS_NO_ALGORITHM) - before, 2 * COUNT_OF(cases));
}

static void
a_library_without_a_handle_is_left_alone(void **state)
{
    (void)state;
    static const Dtype one[] = {DTYPE_FLOAT32};
    CudaKernelCase product = {.op = "MatMul", .inputs = {"T[5,7] numbers 1", "T[7,3] numbers 2"}};
    const CudaKernelCase cases[] = {product, product};
    uint64_t before = blas_refusals(BLAS_NO_HANDLE);
    fake.create_status = CUBLAS_STATUS_NOT_INITIALIZED;
    compare(cases, COUNT_OF(cases), one, 1, COUNT_OF(cases));
    assert_int_equal(fake.heuristics, 0);
    assert_int_equal(blas_refusals(BLAS_NO_HANDLE) - before, COUNT_OF(cases));
}

static void
integers_are_the_plain_kernels(void **state)
{
    (void)state;
    static const Dtype integers[] = {DTYPE_INT32, DTYPE_INT64};
    const CudaKernelCase cases[] = {{.op = "MatMul", .inputs = {"T[5,7] numbers 1", "T[7,3] numbers 2"}}};
    compare(cases, COUNT_OF(cases), integers, COUNT_OF(integers), COUNT_OF(integers));
}

#define ROW(name) {#name, offsetof(CudaBlas, name)},
static const LibraryFunction real_functions[] = {CUDA_BLAS_FUNCTIONS(ROW)};
#undef ROW

static LibraryVersion
real_version(const void *table)
{
    return (LibraryVersion)((const CudaBlas *)table)->cublasLtGetVersion();
}

static void
the_real_library_takes_the_descriptors(void **state)
{
    (void)state;
    const char *folders = getenv("CUDA_LIBRARIES");
    LibraryWanted wanted = {.name = "cuBLASLt",
        .file = "libcublasLt.so.13",
        .functions = real_functions,
        .function_count = COUNT_OF(real_functions),
        .oldest = 130000,
        .version = real_version};
    LibraryTexts texts;
    CudaBlas blas;
    PluginLibrary library = library_open(&wanted, folders == NULL ? "" : folders, &texts, &blas);
    if (library.reason != NULL) {
        print_message("skipped: no cuBLASLt: %s\n", library.reason);
        return;
    }
    static const CudaActivation activations[] = {
        CUDA_ACTIVATION_NONE, CUDA_ACTIVATION_RELU, CUDA_ACTIVATION_GELU_TANH};
    for (size_t form = 0; form < (CUDA_FLOAT64 + 1 - CUDA_FLOAT16) * COUNT_OF(activations); form++) {
        CudaType type = (CudaType)(CUDA_FLOAT16 + form / COUNT_OF(activations));
        float numbers[64] = {0};
        CudaProduct product = {.a = {numbers, 7, 1, {35}},
            .b = {numbers, 1, 7, {0}},
            .output = numbers,
            .rows = 5,
            .columns = 3,
            .depth = 7,
            .batch_rank = 1,
            .batch_sizes = {type == CUDA_FLOAT32 ? 1 : 2},
            .epilogue = {.bias = numbers, .activation = activations[form % COUNT_OF(activations)]}};
        BlasDescription description;
        CudaEpilogue rest;
        BlasPlan plan;
        assert_int_equal(blas_describe(type, true, &product, &description, &rest), BLAS_ACCEPTED);
        assert_int_equal(description.is_tf32, type == CUDA_FLOAT32);
        rest = blas_fuse(&rest, &description);
        assert_int_equal(cuda_epilogue_is_empty(&rest),
            type == CUDA_FLOAT32 ||
                (rest.bias == NULL && product.epilogue.activation == CUDA_ACTIVATION_NONE));
        assert_int_equal(blas_plan_describe(&blas, &description, numbers, &plan), CUBLAS_STATUS_SUCCESS);
        blas_plan_done(&blas, &plan);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(row_major_products_are_computed_as_transposed_ones, reset_fake),
        cmocka_unit_test_setup(batches_have_one_step_or_go_to_the_plain_kernel, reset_fake),
        cmocka_unit_test_setup(addends_are_a_matrix_or_a_bias, reset_fake),
        cmocka_unit_test_setup(activations_that_equal_ours_are_the_librarys, reset_fake),
        cmocka_unit_test_setup(an_activation_is_asked_about_once_for_each_type, reset_fake),
        cmocka_unit_test_setup(activations_that_are_not_ours_are_left_to_our_kernel, reset_fake),
        cmocka_unit_test_setup(a_gelu_by_the_error_function_is_not_that_by_tanh, reset_fake),
        cmocka_unit_test_setup(activations_that_the_library_refuses_are_computed_behind, reset_fake),
        cmocka_unit_test_setup(an_algorithm_is_chosen_once_for_each_shape, reset_fake),
        cmocka_unit_test_setup(float32_is_multiplied_in_tf32_only_where_that_is_allowed, reset_fake),
        cmocka_unit_test_setup(a_plan_in_tf32_is_another_plan, reset_fake),
        cmocka_unit_test_setup(products_of_bytes_are_never_rounded_to_tf32, reset_fake),
        cmocka_unit_test_setup(what_the_library_refuses_is_asked_once_and_computed_plainly, reset_fake),
        cmocka_unit_test_setup(a_library_without_a_handle_is_left_alone, reset_fake),
        cmocka_unit_test_setup(integers_are_the_plain_kernels, reset_fake),
        cmocka_unit_test(the_real_library_takes_the_descriptors),
    };
    return cmocka_run_group_tests_name("worker/cuda/blas", tests, NULL, NULL);
}
