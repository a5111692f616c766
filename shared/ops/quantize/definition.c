/* ONNX's quantised numbers, and products of matrices of them. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/product.h"

/* The elements, with one scale and one zero point. */
static Status
infer_dynamic(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[0];
    context->outputs[1] = shape_scalar();
    context->outputs[2] = shape_scalar();
    return STATUS_OK;
}

/* The product of inputs 0 and `right`: matrices, or batches of them. */
static Status
infer_matrices(Call *call, InferContext *context, uint32_t right)
{
    const Shape *a = &context->inputs[0];
    const Shape *b = &context->inputs[right];
    if (a->rank < 0 || b->rank < 0) {
        return STATUS_OK;
    }
    if (a->rank < 2 || b->rank < 2) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "ranks %d and %d are not both of matrices", a->rank, b->rank);
    }
    return product_of_shapes(call, a, b, &context->outputs[0]);
}

static Status
infer_matmul_integer(Call *call, InferContext *context)
{
    return infer_matrices(call, context, 1);
}

static Status
infer_qlinear_matmul(Call *call, InferContext *context)
{
    return infer_matrices(call, context, 3);
}

static const OpDefinition quantize_ops[] = {
    OP("onnx::QuantizeLinear(x:T1, y_scale:T2, y_zero_point?:T3)->(y:T3) {axis:int=1, block_size:int=0, "
       "output_dtype:type, precision:int=0, saturate:int=1, T1:type, T2:type, T3:type}",
        0, infer_unchanged),
    OP("onnx::DequantizeLinear(x:T1, x_scale:T2, x_zero_point?:T1)->(y:T2) {axis:int=1, block_size:int=0, "
       "output_dtype:type, T1:type, T2:type}",
        0, infer_unchanged),
    OP("onnx::DynamicQuantizeLinear(x:float)->(y:uint8, y_scale:float, y_zero_point:uint8) {}", 0,
        infer_dynamic),
    OP("onnx::MatMulInteger(A:T1, B:T2, a_zero_point?:T1, b_zero_point?:T2)->(Y:int32) {T1:type, T2:type}", 0,
        infer_matmul_integer),
    OP("onnx::QLinearMatMul(a:T1, a_scale:TS, a_zero_point:T1, b:T2, b_scale:TS, b_zero_point:T2, "
       "y_scale:TS, y_zero_point:T3)->(y:T3) {T1:type, T2:type, T3:type, TS:type}",
        0, infer_qlinear_matmul),
};

OP_FAMILY(quantize, quantize_ops);
