#include "worker/cuda/blas/plan.h"

#include <assert.h>

#define LIBRARY_TRY(call)                                                                                    \
    do {                                                                                                     \
        cublasStatus_t library_status_ = (call);                                                             \
        if (library_status_ != CUBLAS_STATUS_SUCCESS) {                                                      \
            return library_status_;                                                                          \
        }                                                                                                    \
    } while (0)

static cudaDataType
data_type(int64_t type)
{
    static const cudaDataType types[CUDA_TYPE_COUNT] = {[CUDA_FLOAT16] = CUDA_R_16F,
        [CUDA_BFLOAT16] = CUDA_R_16BF,
        [CUDA_FLOAT32] = CUDA_R_32F,
        [CUDA_FLOAT64] = CUDA_R_64F};
    return types[type];
}

static cublasStatus_t
make_layout(const CudaBlas *blas, const BlasDescription *description, const BlasMatrix *matrix,
    cublasLtMatrixLayout_t *ret_layout)
{
    int32_t batch = (int32_t)description->batch;
    LIBRARY_TRY(blas->cublasLtMatrixLayoutCreate(ret_layout, data_type(description->type),
        (uint64_t)matrix->rows, (uint64_t)matrix->columns, matrix->step));
    LIBRARY_TRY(blas->cublasLtMatrixLayoutSetAttribute(
        *ret_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    return blas->cublasLtMatrixLayoutSetAttribute(*ret_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
        &matrix->batch_step, sizeof matrix->batch_step);
}

static cublasStatus_t
set_transpose(const CudaBlas *blas, cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
    const BlasMatrix *matrix)
{
    cublasOperation_t operation = matrix->is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return blas->cublasLtMatmulDescSetAttribute(product, attribute, &operation, sizeof operation);
}

static cublasStatus_t
set_bias(const CudaBlas *blas, cublasLtMatmulDesc_t product, const void *bias)
{
    return blas->cublasLtMatmulDescSetAttribute(
        product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
}

static cublasLtEpilogue_t
epilogue_of(const BlasDescription *description)
{
    bool has_bias = description->has_bias != 0;
    if (description->activation == (int64_t)CUDA_ACTIVATION_RELU) {
        return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    }
    if (description->activation == (int64_t)CUDA_ACTIVATION_GELU_TANH) {
        return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    }
    return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/* Returns in what the library computes: sums are kept in float for the 16-bit types, and float32 is rounded
 * to TF32 only where the description says so. */
static cublasComputeType_t
compute_type(const BlasDescription *description)
{
    if (description->type == (int64_t)CUDA_FLOAT64) {
        return CUBLAS_COMPUTE_64F;
    }
    return description->is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

static cublasStatus_t
make_product(const CudaBlas *blas, const BlasDescription *description, const void *bias,
    cublasLtMatmulDesc_t *ret_product)
{
    bool is_double = description->type == (int64_t)CUDA_FLOAT64;
    cudaDataType type = data_type(description->type);
    cublasLtEpilogue_t epilogue = epilogue_of(description);
    LIBRARY_TRY(blas->cublasLtMatmulDescCreate(
        ret_product, compute_type(description), is_double ? CUDA_R_64F : CUDA_R_32F));
    LIBRARY_TRY(set_transpose(blas, *ret_product, CUBLASLT_MATMUL_DESC_TRANSA, &description->left));
    LIBRARY_TRY(set_transpose(blas, *ret_product, CUBLASLT_MATMUL_DESC_TRANSB, &description->right));
    LIBRARY_TRY(blas->cublasLtMatmulDescSetAttribute(
        *ret_product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (!description->has_bias) {
        return CUBLAS_STATUS_SUCCESS;
    }
    LIBRARY_TRY(blas->cublasLtMatmulDescSetAttribute(
        *ret_product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type));
    return set_bias(blas, *ret_product, bias);
}

cublasStatus_t
blas_plan_describe(
    const CudaBlas *blas, const BlasDescription *description, const void *bias, BlasPlan *ret_plan)
{
    *ret_plan = (BlasPlan){.description = *description};
    LIBRARY_TRY(make_product(blas, description, bias, &ret_plan->product));
    LIBRARY_TRY(make_layout(blas, description, &description->left, &ret_plan->left));
    LIBRARY_TRY(make_layout(blas, description, &description->right, &ret_plan->right));
    LIBRARY_TRY(make_layout(blas, description, &description->c, &ret_plan->c));
    return make_layout(blas, description, &description->output, &ret_plan->output);
}

static cublasStatus_t
set_preferences(const CudaBlas *blas, const BlasDescription *description, size_t workspace_size,
    cublasLtMatmulPreference_t preference)
{
    uint64_t workspace = workspace_size;
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        uint32_t alignment;
    } rows[] = {
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, (uint32_t)description->left.alignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, (uint32_t)description->right.alignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, (uint32_t)description->c.alignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, (uint32_t)description->output.alignment},
    };
    LIBRARY_TRY(blas->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    LIBRARY_TRY(blas->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes));
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        LIBRARY_TRY(blas->cublasLtMatmulPreferenceSetAttribute(
            preference, rows[index].attribute, &rows[index].alignment, sizeof rows[index].alignment));
    }
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
ask_heuristics(const CudaBlas *blas, cublasLtHandle_t handle, cublasLtMatmulPreference_t preference,
    size_t workspace_size, BlasPlan *plan)
{
    cublasLtMatmulHeuristicResult_t result = {.state = CUBLAS_STATUS_NOT_SUPPORTED};
    int count = 0;
    LIBRARY_TRY(set_preferences(blas, &plan->description, workspace_size, preference));
    LIBRARY_TRY(blas->cublasLtMatmulAlgoGetHeuristic(handle, plan->product, plan->left, plan->right, plan->c,
        plan->output, preference, 1, &result, &count));
    if (count == 0) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    plan->algorithm = result.algo;
    return result.state;
}

cublasStatus_t
blas_plan_choose(const CudaBlas *blas, cublasLtHandle_t handle, size_t workspace_size, BlasPlan *plan)
{
    cublasLtMatmulPreference_t preference = NULL;
    LIBRARY_TRY(blas->cublasLtMatmulPreferenceCreate(&preference));
    cublasStatus_t status = ask_heuristics(blas, handle, preference, workspace_size, plan);
    (void)blas->cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

cublasStatus_t
blas_plan_run(const CudaBlas *blas, cublasLtHandle_t handle, const BlasPlan *plan,
    const BlasOperands *operands, size_t workspace_size, cudaStream_t stream)
{
    const BlasDescription *description = &plan->description;
    bool is_double = description->type == (int64_t)CUDA_FLOAT64;
    float beta = description->has_c ? operands->beta : 0;
    double wide[] = {(double)operands->alpha, (double)beta};
    float narrow[] = {operands->alpha, beta};
    const void *alpha_at = is_double ? (const void *)&wide[0] : &narrow[0];
    const void *beta_at = is_double ? (const void *)&wide[1] : &narrow[1];
    const void *c = description->has_c ? operands->c : operands->output;
    if (description->has_bias) {
        LIBRARY_TRY(set_bias(blas, plan->product, operands->bias));
    }
    return blas->cublasLtMatmul(handle, plan->product, alpha_at, operands->left, plan->left, operands->right,
        plan->right, beta_at, c, plan->c, operands->output, plan->output, &plan->algorithm,
        operands->workspace, workspace_size, stream);
}

void
blas_plan_done(const CudaBlas *blas, BlasPlan *plan)
{
    cublasLtMatrixLayout_t layouts[] = {plan->left, plan->right, plan->c, plan->output};
    for (size_t index = 0; index < COUNT_OF(layouts); index++) {
        if (layouts[index] != NULL) {
            (void)blas->cublasLtMatrixLayoutDestroy(layouts[index]);
        }
    }
    if (plan->product != NULL) {
        (void)blas->cublasLtMatmulDescDestroy(plan->product);
    }
    *plan = (BlasPlan){0};
}
