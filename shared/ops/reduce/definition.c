/* Dimensions folded into one value: sums, extremes, logic; and running sums. */
#include "shared/ops/family.h"
#include "shared/ops/reduce/rule.h"

static Status
infer_reduce(Call *call, InferContext *context)
{
    Reduction reduction;
    TRY(reduction_read(call, context, &reduction));
    context->outputs[0] = reduction.output;
    return STATUS_OK;
}

/* A running sum keeps the shape; the axis must exist. */
static Status
infer_cumulative(Call *call, InferContext *context)
{
    int64_t axis = 0;
    int position = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 1, &axis, &is_known));
    if (is_known && context->inputs[0].rank >= 0) {
        TRY(infer_axis(call, axis, context->inputs[0].rank, &position));
    }
    context->outputs[0] = context->inputs[0];
    return STATUS_OK;
}

#define REDUCTION(name)                                                                                      \
    OP(name                                                                                                  \
        "(input:T, reduction_indices:Tidx)->(output:T) {keep_dims:bool=false, T:type, Tidx:type=DT_INT32}",  \
        0, infer_reduce)
#define LOGIC_REDUCTION(name)                                                                                \
    OP(name                                                                                                  \
        "(input:bool, reduction_indices:Tidx)->(output:bool) {keep_dims:bool=false, Tidx:type=DT_INT32}",    \
        0, infer_reduce)
#define ONNX_REDUCTION(name)                                                                                 \
    OP(name "(data:T, axes?:int64)->(reduced:T) {keepdims:int=1, noop_with_empty_axes:int=0, T:type}", 0,    \
        infer_reduce)

static const OpDefinition reduce_ops[] = {
    REDUCTION("Sum"),
    REDUCTION("Mean"),
    REDUCTION("Max"),
    REDUCTION("Min"),
    REDUCTION("Prod"),
    REDUCTION("EuclideanNorm"),
    LOGIC_REDUCTION("All"),
    LOGIC_REDUCTION("Any"),
    OP("Cumsum(x:T, axis:Tidx)->(out:T) {exclusive:bool=false, reverse:bool=false, T:type, "
       "Tidx:type=DT_INT32}",
        0, infer_cumulative),
    OP("Cumprod(x:T, axis:Tidx)->(out:T) {exclusive:bool=false, reverse:bool=false, T:type, "
       "Tidx:type=DT_INT32}",
        0, infer_cumulative),
    OP("L2Loss(t:T)->(output:T) {T:type}", 0, infer_scalar),
    ONNX_REDUCTION("onnx::ReduceSum"),
    ONNX_REDUCTION("onnx::ReduceMean"),
    ONNX_REDUCTION("onnx::ReduceMax"),
    ONNX_REDUCTION("onnx::ReduceMin"),
    ONNX_REDUCTION("onnx::ReduceProd"),
    ONNX_REDUCTION("onnx::ReduceL1"),
    ONNX_REDUCTION("onnx::ReduceL2"),
    ONNX_REDUCTION("onnx::ReduceSumSquare"),
    ONNX_REDUCTION("onnx::ReduceLogSum"),
    ONNX_REDUCTION("onnx::ReduceLogSumExp"),
    OP("onnx::CumSum(x:T, axis:T2)->(y:T) {exclusive:int=0, reverse:int=0, T:type, T2:type}", 0,
        infer_cumulative),
    OP("onnx::CumProd(x:T, axis:T2)->(y:T) {exclusive:int=0, reverse:int=0, T:type, T2:type}", 0,
        infer_cumulative),
};

OP_FAMILY(reduce, reduce_ops);
