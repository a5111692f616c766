/* Dimensions folded into one value: sums, extremes, logic, positions of extremes. */
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

static Status
drop_axis(Call *call, InferContext *context, int64_t axis, bool keeps)
{
    const Shape *input = &context->inputs[0];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    int place = 0;
    TRY(infer_axis(call, axis, input->rank, &place));
    if (input->dims[place] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is empty and has no extreme", place);
    }
    Shape output = shape_scalar();
    for (int index = 0; index < input->rank; index++) {
        if (index != place || keeps) {
            output.dims[output.rank++] = index == place ? 1 : input->dims[index];
        }
    }
    context->outputs[0] = output;
    return STATUS_OK;
}

static Status
infer_arg(Call *call, InferContext *context)
{
    int64_t axis = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 1, &axis, &is_known));
    if (is_known) {
        return drop_axis(call, context, axis, false);
    }
    const int rank = context->inputs[0].rank;
    context->outputs[0] = rank <= 0 ? shape_unknown() : shape_of_rank(rank - 1);
    return STATUS_OK;
}

static Status
infer_onnx_arg(Call *call, InferContext *context)
{
    return drop_axis(
        call, context, node_attr_int(context->node, "axis"), node_attr_int(context->node, "keepdims") != 0);
}

/* Running sums keep the shape; the axis must exist. */
static Status
infer_cumulative(Call *call, InferContext *context)
{
    int64_t axis = 0;
    int place = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 1, &axis, &is_known));
    if (is_known && context->inputs[0].rank >= 0) {
        TRY(infer_axis(call, axis, context->inputs[0].rank, &place));
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
    OP("onnx::" name                                                                                         \
       "(data:T, axes?:int64)->(reduced:T) {keepdims:int=1, noop_with_empty_axes:int=0, T:type}",            \
        0, infer_reduce)
#define ARG(name)                                                                                            \
    OP(name "(input:T, dimension:Tidx)->(output:output_type) {T:type, Tidx:type=DT_INT32, "                  \
            "output_type:type=DT_INT64}",                                                                    \
        0, infer_arg)
#define ONNX_ARG(name)                                                                                       \
    OP("onnx::" name                                                                                         \
       "(data:T)->(reduced:int64) {axis:int=0, keepdims:int=1, select_last_index:int=0, T:type}",            \
        0, infer_onnx_arg)

static const OpDefinition reduce_ops[] = {
    REDUCTION("Sum"),
    REDUCTION("Mean"),
    REDUCTION("Max"),
    REDUCTION("Min"),
    REDUCTION("Prod"),
    REDUCTION("EuclideanNorm"),
    LOGIC_REDUCTION("All"),
    LOGIC_REDUCTION("Any"),
    ARG("ArgMax"),
    ARG("ArgMin"),
    OP("Cumsum(x:T, axis:Tidx)->(out:T) {exclusive:bool=false, reverse:bool=false, T:type, "
       "Tidx:type=DT_INT32}",
        0, infer_cumulative),
    OP("Cumprod(x:T, axis:Tidx)->(out:T) {exclusive:bool=false, reverse:bool=false, T:type, "
       "Tidx:type=DT_INT32}",
        0, infer_cumulative),
    OP("L2Loss(t:T)->(output:T) {T:type}", 0, infer_scalar),
    ONNX_REDUCTION("ReduceSum"),
    ONNX_REDUCTION("ReduceMean"),
    ONNX_REDUCTION("ReduceMax"),
    ONNX_REDUCTION("ReduceMin"),
    ONNX_REDUCTION("ReduceProd"),
    ONNX_REDUCTION("ReduceL1"),
    ONNX_REDUCTION("ReduceL2"),
    ONNX_REDUCTION("ReduceSumSquare"),
    ONNX_REDUCTION("ReduceLogSum"),
    ONNX_REDUCTION("ReduceLogSumExp"),
    ONNX_ARG("ArgMax"),
    ONNX_ARG("ArgMin"),
    OP("onnx::CumSum(x:T, axis:T2)->(y:T) {exclusive:int=0, reverse:int=0, T:type, T2:type}", 0,
        infer_cumulative),
};

OP_FAMILY(reduce, reduce_ops);
