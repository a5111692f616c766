/* Matrix products of TensorFlow and ONNX, alone or fused with what follows. The ops' own rules check shapes
 * and size outputs. */
#include "worker/cuda/kernels/matmul.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cuda/blas/product.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/epilogue.h"
#include "worker/cuda/operands/product.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

/* The attributes of an op that ask for something; NULL: it has no such attribute. */
typedef struct ProductOp {
    const char *op;
    const char *transposes_a;
    const char *transposes_b;
    bool is_gemm; /* alpha × a × b + beta × c */
    bool is_fused;
} ProductOp;

static const ProductOp PRODUCT_OPS[] = {
    {.op = "MatMul", .transposes_a = "transpose_a", .transposes_b = "transpose_b"},
    {.op = "BatchMatMul", .transposes_a = "adj_x", .transposes_b = "adj_y"},
    {.op = "BatchMatMulV2", .transposes_a = "adj_x", .transposes_b = "adj_y"},
    {.op = "_FusedMatMul", .transposes_a = "transpose_a", .transposes_b = "transpose_b", .is_fused = true},
    {.op = "_FusedBatchMatMulV2", .transposes_a = "adj_x", .transposes_b = "adj_y", .is_fused = true},
    {.op = "onnx::MatMul"},
    {.op = "onnx::Gemm", .transposes_a = "transA", .transposes_b = "transB", .is_gemm = true},
};

typedef struct ProductState {
    bool transposes_a;
    bool transposes_b;
    bool is_gemm;
    float alpha;
    float beta;
    Epilogue epilogue;
} ProductState;

static bool
read_flag(const Node *node, const char *name)
{
    const AttrValue *value = name == NULL ? NULL : node_attr(node, name);
    return value != NULL && (value->kind == ATTR_INT ? value->value.i != 0 : value->value.b);
}

static const ProductOp *
find_op(const Node *node)
{
    for (size_t index = 0; index < COUNT_OF(PRODUCT_OPS); index++) {
        if (slice_equals_string(node->op->name, PRODUCT_OPS[index].op)) {
            return &PRODUCT_OPS[index];
        }
    }
    assert(false);
    return NULL;
}

static Status
create_product(Call *call, const Node *node, void **ret_state)
{
    const ProductOp *op = find_op(node);
    ProductState state = {
        .transposes_a = read_flag(node, op->transposes_a),
        .transposes_b = read_flag(node, op->transposes_b),
        .is_gemm = op->is_gemm,
        .alpha = op->is_gemm ? node_attr_float(node, "alpha") : 1,
        .beta = op->is_gemm ? node_attr_float(node, "beta") : 0,
    };
    if (op->is_fused) {
        TRY(epilogue_read(call, node, &state.epilogue));
    }
    ProductState *copy = memory_new(1, sizeof *copy);
    if (copy == NULL) {
        return call_fail_memory(call, "a matrix product");
    }
    *copy = state;
    *ret_state = copy;
    return STATUS_OK;
}

/* Returns what Gemm adds, which broadcasts to the rows and columns. */
static CudaMatrix
read_addend(const Tensor *c)
{
    int rank = c->shape.rank;
    bool has_columns = rank >= 1 && c->shape.dims[rank - 1] != 1;
    bool has_rows = rank == 2 && c->shape.dims[0] != 1;
    return (CudaMatrix){
        .data = c->data, .row_step = has_rows ? c->shape.dims[1] : 0, .column_step = has_columns ? 1 : 0};
}

static CudaProduct
read_product(const KernelContext *context)
{
    const ProductState *state = context->state;
    const Tensor *a = &context->inputs[0];
    const Tensor *b = &context->inputs[1];
    bool has_addend = state->is_gemm && context->input_count > 2 && context->inputs[2].dtype != DTYPE_INVALID;
    CudaProduct product = operands_product(a, state->transposes_a, b, state->transposes_b);
    product.alpha = state->alpha;
    product.beta = state->beta;
    product.epilogue = operands_epilogue(context, &state->epilogue);
    if (has_addend) {
        product.c = read_addend(&context->inputs[2]);
    }
    return product;
}

/* Applies the steps that the library left. */
static Status
finish_product(KernelContext *context, const CudaEpilogue *rest, const CudaProduct *product)
{
    const Tensor *output = &context->outputs[0];
    if (cuda_epilogue_is_empty(rest)) {
        return STATUS_OK;
    }
    int error = cuda_finish(cuda_type(output->dtype), rest, output->data, tensor_element_count(output),
        product->columns, 1, cuda_stream(context));
    return cuda_check(context->call, error, "the steps behind a matrix product");
}

Status
matmul_enqueue(KernelContext *context, CudaType type, const CudaProduct *product)
{
    CudaEpilogue rest;
    BlasRefusal refusal = BLAS_ACCEPTED;
    assert(cuda_epilogue_is_empty(&product->epilogue));
    TRY(blas_multiply(context, type, product, &refusal, &rest));
    assert(refusal != BLAS_ACCEPTED || cuda_epilogue_is_empty(&rest));
    int error = refusal == BLAS_ACCEPTED ? 0 : cuda_multiply(type, product, cuda_stream(context));
    return cuda_check(context->call, error, "a matrix product");
}

/* cuBLASLt multiplies where it can, the plain kernel everywhere else. */
static Status
compute_product(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaProduct product = read_product(context);
    CudaEpilogue rest;
    BlasRefusal refusal = BLAS_ACCEPTED;
    CudaType type = cuda_type(output->dtype);
    product.output = output->data;
    TRY(blas_multiply(context, type, &product, &refusal, &rest));
    return refusal == BLAS_ACCEPTED
               ? finish_product(context, &rest, &product)
               : cuda_check(
                     context->call, cuda_multiply(type, &product, cuda_stream(context)), "a matrix product");
}

static bool
supports_numbers(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return dtype_is_floating(dtype) || dtype == DTYPE_INT32 || dtype == DTYPE_INT64;
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

#define PRODUCT_KERNEL(name, can)                                                                            \
    {                                                                                                        \
        .op = (name), .supports = (can), .create = create_product, .destroy = memory_free,                   \
        .compute = compute_product                                                                           \
    }

static const Kernel matmul_kernels[] = {
    PRODUCT_KERNEL("MatMul", supports_numbers),
    PRODUCT_KERNEL("BatchMatMul", supports_numbers),
    PRODUCT_KERNEL("BatchMatMulV2", supports_numbers),
    PRODUCT_KERNEL("_FusedMatMul", supports_floats),
    PRODUCT_KERNEL("_FusedBatchMatMulV2", supports_floats),
    PRODUCT_KERNEL("onnx::MatMul", supports_numbers),
    PRODUCT_KERNEL("onnx::Gemm", supports_floats),
};

KERNEL_FAMILY(cuda_kernels, matmul, matmul_kernels);
