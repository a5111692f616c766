#include "worker/cuda/blas/activation.h"

#include <assert.h>
#include <math.h>

#include "shared/tensor/half.h"
#include "worker/cuda/blas/plan.h"
#include "worker/cuda/errors.h"

/* DEPTH is long enough for a library to cut the sums. */
enum { ROWS = 64, COLUMNS = 64, DEPTH = 512, VALUES = ROWS * COLUMNS };

/* The operands and both results, of numbers of the question's type, in memory of the host that the card
 * reads and writes. */
typedef struct Sample {
    float left[ROWS * DEPTH];
    float right[DEPTH * COLUMNS];
    float bias[COLUMNS];
    float fused[VALUES]; /* with the library's activation */
    float apart[VALUES]; /* with Sluice's kernel behind the product */
} Sample;

static void
write_number(CudaType type, float *numbers, size_t index, float number)
{
    if (type == CUDA_FLOAT32) {
        numbers[index] = number;
    } else {
        ((uint16_t *)(void *)numbers)[index] =
            type == CUDA_FLOAT16 ? half_from_float(number) : bfloat16_from_float(number);
    }
}

static float
read_number(CudaType type, const float *numbers, size_t index)
{
    if (type == CUDA_FLOAT32) {
        return numbers[index];
    }
    uint16_t bits = ((const uint16_t *)(const void *)numbers)[index];
    return type == CUDA_FLOAT16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

/* Returns the number of a row: those that activations are at odds about, then some from -8 to 8. All are
 * numbers of 16 bits. */
static float
row_number(size_t row)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, 0.0F, -0.0F, 1024.0F, -1024.0F};
    return row < COUNT_OF(special) ? special[row] : ((float)row - 0.5F * ROWS) / 4;
}

/* Returns the number of a column: 1, 1/2, 1/4 or 1/8. */
static float
column_number(size_t column)
{
    return 1.0F / (float)(1U << column % 4);
}

/* Only the first term of each sum is not 0: the product of a row's number and a column's, which is exact, in
 * TF32 too. */
static void
fill(CudaType type, Sample *sample)
{
    for (size_t index = 0; index < COUNT_OF(sample->left); index++) {
        write_number(type, sample->left, index, index % DEPTH == 0 ? row_number(index / DEPTH) : 0.0F);
    }
    for (size_t index = 0; index < COUNT_OF(sample->right); index++) {
        write_number(type, sample->right, index, index < COLUMNS ? column_number(index) : 0.0F);
    }
    for (size_t index = 0; index < COUNT_OF(sample->bias); index++) {
        write_number(type, sample->bias, index, 0.5F);
    }
    for (size_t index = 0; index < VALUES; index++) {
        write_number(type, sample->fused, index, NAN);
        write_number(type, sample->apart, index, 0.0F);
    }
}

static CudaProduct
sample_product(Sample *sample, bool has_bias, CudaActivation activation)
{
    return (CudaProduct){.a = {.data = sample->left, .row_step = DEPTH, .column_step = 1},
        .b = {.data = sample->right, .row_step = COLUMNS, .column_step = 1},
        .rows = ROWS,
        .columns = COLUMNS,
        .depth = DEPTH,
        .alpha = 1,
        .epilogue = {.bias = has_bias ? sample->bias : NULL, .activation = activation}};
}

static cublasStatus_t
multiply(const BlasQuestion *question, const CudaProduct *product, bool is_fused, CudaEpilogue *ret_rest)
{
    const CudaBlas *blas = question->blas;
    BlasPlan plan;
    BlasDescription description;
    BlasOperands operands = {.left = product->b.data,
        .right = product->a.data,
        .bias = product->epilogue.bias,
        .output = product->output,
        .workspace = question->workspace,
        .alpha = product->alpha};
    BlasRefusal refusal = blas_describe(question->type, question->is_tf32, product, &description, ret_rest);
    assert(refusal == BLAS_ACCEPTED);
    if (is_fused) {
        *ret_rest = blas_fuse(ret_rest, &description);
    }
    cublasStatus_t status = blas_plan_describe(blas, &description, operands.bias, &plan);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = blas_plan_choose(blas, question->handle, question->workspace_size, &plan);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = blas_plan_run(
            blas, question->handle, &plan, &operands, question->workspace_size, question->stream);
    }
    blas_plan_done(blas, &plan);
    return status;
}

/* An error of GELU is one of its argument, whose size it grows with. */
static bool
are_equal(const BlasQuestion *question, float fused, float apart, float argument)
{
    static const float tolerances[CUDA_TYPE_COUNT] = {
        [CUDA_FLOAT16] = 2e-3F, [CUDA_BFLOAT16] = 1.6e-2F, [CUDA_FLOAT32] = 2e-6F};
    if (isnan(fused) || isnan(apart) || isinf(fused) || isinf(apart) ||
        question->activation == CUDA_ACTIVATION_RELU) {
        return fused == apart || (isnan(fused) && isnan(apart));
    }
    return fabsf(fused - apart) <= tolerances[question->type] * fabsf(argument);
}

static bool
compare(const BlasQuestion *question, const Sample *sample, bool has_bias)
{
    for (size_t index = 0; index < VALUES; index++) {
        float argument =
            row_number(index / COLUMNS) * column_number(index % COLUMNS) + (has_bias ? 0.5F : 0.0F);
        if (!are_equal(question, read_number(question->type, sample->fused, index),
                read_number(question->type, sample->apart, index), argument)) {
            return false;
        }
    }
    return true;
}

/* `ret_is_equal` is false also for what the library refuses. */
static Status
check_form(Call *call, const BlasQuestion *question, Sample *sample, bool has_bias, bool *ret_is_equal)
{
    CudaEpilogue rest;
    CudaProduct product = sample_product(sample, has_bias, question->activation);
    fill(question->type, sample);
    product.output = sample->fused;
    cublasStatus_t status = multiply(question, &product, true, &rest);
    assert(cuda_epilogue_is_empty(&rest));
    product.output = sample->apart;
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = multiply(question, &product, false, &rest);
    }
    if (status == CUBLAS_STATUS_ALLOC_FAILED) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "cuBLASLt has no memory for the activation of a product");
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
        *ret_is_equal = false;
        return cuda_check(call, (int)cudaStreamSynchronize(question->stream), "comparing an activation");
    }
    TRY(cuda_check(call,
        cuda_finish(question->type, &rest, sample->apart, VALUES, COLUMNS, 1, question->stream),
        "an activation to be compared"));
    TRY(cuda_check(call, (int)cudaStreamSynchronize(question->stream), "comparing an activation"));
    *ret_is_equal = compare(question, sample, has_bias);
    return STATUS_OK;
}

Status
blas_activation_check(Call *call, const BlasQuestion *question, bool *ret_is_equal)
{
    void *memory = NULL;
    bool is_equal = false;
    assert(
        question->type == CUDA_FLOAT16 || question->type == CUDA_BFLOAT16 || question->type == CUDA_FLOAT32);
    TRY(cuda_check(
        call, (int)cudaHostAlloc(&memory, sizeof(Sample), cudaHostAllocDefault), "memory for a comparison"));
    Status status = check_form(call, question, memory, true, &is_equal);
    if (status == STATUS_OK && is_equal) {
        status = check_form(call, question, memory, false, &is_equal);
    }
    (void)cudaFreeHost(memory);
    *ret_is_equal = is_equal;
    return status;
}
