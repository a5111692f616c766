/* The activations that cuBLASLt would compute behind a product, compared with Sluice's: whether its ReLU
 * hands a NaN on, as all of ours do, and how far its GELU is from the exact one and from that by tanh. One
 * fact for each, in each type. A worker asks the same of the library before it uses one of its activations
 * (worker/cuda/blas/activation.h); these facts tell why it does or does not.
 *
 *     library_epilogues
 *
 * "skipped: …" without cuBLASLt. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/tensor/half.h"
#include "tests/bundle/library.h"
#include "worker/cuda/blas/plan.h"

enum { SIDE = 64, COUNT = SIDE * SIDE, WORKSPACE_SIZE = 32 << 20 };

typedef struct Type {
    const char *name;
    CudaType type;
    size_t size;
} Type;

static const Type types[] = {
    {"float32", CUDA_FLOAT32, 4}, {"float16", CUDA_FLOAT16, 2}, {"bfloat16", CUDA_BFLOAT16, 2}};

static void
write_number(const Type *type, void *numbers, size_t index, float number)
{
    if (type->type == CUDA_FLOAT32) {
        ((float *)numbers)[index] = number;
    } else {
        ((uint16_t *)numbers)[index] =
            type->type == CUDA_FLOAT16 ? half_from_float(number) : bfloat16_from_float(number);
    }
}

static float
read_number(const Type *type, const void *numbers, size_t index)
{
    if (type->type == CUDA_FLOAT32) {
        return ((const float *)numbers)[index];
    }
    uint16_t bits = ((const uint16_t *)numbers)[index];
    return type->type == CUDA_FLOAT16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

/* Copies numbers to the card. */
static void *
upload(const Type *type, const float *numbers)
{
    unsigned char host[COUNT * sizeof(float)];
    void *card = NULL;
    for (size_t index = 0; index < COUNT; index++) {
        write_number(type, host, index, numbers[index]);
    }
    library_must((int)cudaMalloc(&card, sizeof host), "memory of the card");
    library_must((int)cudaMemcpy(card, host, COUNT * type->size, cudaMemcpyHostToDevice), "a copy");
    return card;
}

/* Computes the activation of `numbers`, rounded to the type, by a product with the identity. False: the
 * library has none such. */
static bool
activate(const CudaBlas *blas, cublasLtHandle_t handle, const Type *type, cublasLtEpilogue_t epilogue,
    const float *numbers, float *ret_numbers)
{
    float identity[COUNT] = {0};
    unsigned char host[COUNT * sizeof(float)];
    CudaEpilogue rest;
    BlasDescription description;
    BlasPlan plan;
    for (size_t index = 0; index < SIDE; index++) {
        identity[index * SIDE + index] = 1;
    }
    CudaProduct product = {.a = {.data = upload(type, numbers), .row_step = SIDE, .column_step = 1},
        .b = {.data = upload(type, identity), .row_step = SIDE, .column_step = 1},
        .output = upload(type, identity),
        .rows = SIDE,
        .columns = SIDE,
        .depth = SIDE,
        .alpha = 1};
    BlasOperands operands = {
        .left = product.b.data, .right = product.a.data, .output = product.output, .alpha = 1};
    library_must((int)cudaMalloc(&operands.workspace, WORKSPACE_SIZE), "memory of the card");
    library_must(
        (int)blas_describe(type->type, false, &product, &description, &rest), "describing a product");
    library_must((int)blas_plan_describe(blas, &description, NULL, &plan), "a product's descriptors");
    library_must((int)blas->cublasLtMatmulDescSetAttribute(
                     plan.product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue),
        "a product's activation");
    bool is_known = blas_plan_choose(blas, handle, WORKSPACE_SIZE, &plan) == CUBLAS_STATUS_SUCCESS;
    if (is_known) {
        library_must((int)blas_plan_run(blas, handle, &plan, &operands, WORKSPACE_SIZE, NULL), "a product");
        library_must(
            (int)cudaMemcpy(host, product.output, COUNT * type->size, cudaMemcpyDeviceToHost), "a product");
    }
    for (size_t index = 0; is_known && index < COUNT; index++) {
        ret_numbers[index] = read_number(type, host, index);
    }
    blas_plan_done(blas, &plan);
    library_must((int)cudaFree((void *)(uintptr_t)product.a.data), "memory of the card"); // NOLINT
    library_must((int)cudaFree((void *)(uintptr_t)product.b.data), "memory of the card"); // NOLINT
    library_must((int)cudaFree(product.output), "memory of the card");
    library_must((int)cudaFree(operands.workspace), "memory of the card");
    return is_known;
}

static void
tell_relu(const CudaBlas *blas, cublasLtHandle_t handle, const Type *type)
{
    float numbers[COUNT] = {[0] = NAN}; /* of which a whole row of the product is NaN */
    float results[COUNT];
    if (!activate(blas, handle, type, CUBLASLT_EPILOGUE_RELU, numbers, results)) {
        (void)printf("fact\tcuBLASLt's ReLU, %s\tnone\n", type->name);
        return;
    }
    (void)printf("fact\tcuBLASLt's ReLU of NaN, %s\t%g\n", type->name, (double)results[0]);
}

static void
tell_gelu(const CudaBlas *blas, cublasLtHandle_t handle, const Type *type)
{
    static const double range = 6;
    float numbers[COUNT];
    float results[COUNT];
    double from_exact = 0;
    double from_tanh = 0;
    for (size_t index = 0; index < COUNT; index++) {
        unsigned char rounded[sizeof(float)];
        write_number(type, rounded, 0, (float)(range * (2.0 * (double)index / COUNT - 1)));
        numbers[index] = read_number(type, rounded, 0);
    }
    if (!activate(blas, handle, type, CUBLASLT_EPILOGUE_GELU, numbers, results)) {
        (void)printf("fact\tcuBLASLt's GELU, %s\tnone\n", type->name);
        return;
    }
    for (size_t index = 0; index < COUNT; index++) {
        double x = (double)numbers[index];
        double exact = x * (1 + erf(x * M_SQRT1_2)) / 2;
        double by_tanh = x * (1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x))) / 2;
        from_exact = fmax(from_exact, fabs((double)results[index] - exact));
        from_tanh = fmax(from_tanh, fabs((double)results[index] - by_tanh));
    }
    (void)printf("fact\tcuBLASLt's GELU, %s\tat most %.2g from the exact one, %.2g from that by tanh\n",
        type->name, from_exact, from_tanh);
}

int
main(void)
{
    library_open_all();
    const CudaBlas *blas = cuda_blas();
    cublasLtHandle_t handle = NULL;
    if (blas == NULL) {
        library_print_skipped("cuBLASLt");
        return EXIT_SUCCESS;
    }
    library_must((int)blas->cublasLtCreate(&handle), "opening cuBLASLt");
    for (size_t index = 0; index < COUNT_OF(types); index++) {
        tell_relu(blas, handle, &types[index]);
        tell_gelu(blas, handle, &types[index]);
    }
    library_must((int)blas->cublasLtDestroy(handle), "closing cuBLASLt");
    return EXIT_SUCCESS;
}
