/* Positions of extremes and of non-zero elements, and the largest elements sorted. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The shapes of k elements along a dimension: values and their indices. */
static Status
keep_largest(Call *call, InferContext *context, int64_t axis, int64_t k)
{
    Shape shape = context->inputs[0];
    if (shape.rank < 0) {
        return STATUS_OK;
    }
    int position = 0;
    TRY(infer_axis(call, axis, shape.rank, &position));
    if (k < -1 || (shape.dims[position] >= 0 && k > shape.dims[position])) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "k is %lld, not 0 to %lld", (long long)k,
            (long long)shape.dims[position]);
    }
    shape.dims[position] = k;
    context->outputs[0] = shape;
    context->outputs[1] = shape;
    return STATUS_OK;
}

static Status
infer_top_k(Call *call, InferContext *context)
{
    return keep_largest(call, context, -1, node_attr_int(context->node, "k"));
}

static Status
keep_largest_by_input(Call *call, InferContext *context, int64_t axis)
{
    int64_t k = -1;
    bool is_known = false;
    TRY(infer_int(call, context, 1, &k, &is_known));
    if (is_known && k < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "k is %lld, not at least 0", (long long)k);
    }
    return keep_largest(call, context, axis, is_known ? k : -1);
}

static Status
infer_top_k_v2(Call *call, InferContext *context)
{
    return keep_largest_by_input(call, context, -1);
}

static Status
infer_onnx_top_k(Call *call, InferContext *context)
{
    return keep_largest_by_input(call, context, node_attr_int(context->node, "axis"));
}

/* One column for each element that is not zero; their number is known only when it runs. */
static Status
infer_non_zero(Call *call, InferContext *context)
{
    (void)call;
    int rank = context->inputs[0].rank;
    context->outputs[0] = shape_of_rank(2);
    context->outputs[0].dims[0] = rank;
    return STATUS_OK;
}

static Status
drop_axis(Call *call, InferContext *context, int64_t axis, bool keeps)
{
    const Shape *input = &context->inputs[0];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    int position = 0;
    TRY(infer_axis(call, axis, input->rank, &position));
    if (input->dims[position] == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is empty and has no extreme", position);
    }
    Shape output = shape_scalar();
    for (int index = 0; index < input->rank; index++) {
        if (index != position || keeps) {
            output.dims[output.rank++] = index == position ? 1 : input->dims[index];
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
    int rank = context->inputs[0].rank;
    context->outputs[0] = rank <= 0 ? shape_unknown() : shape_of_rank(rank - 1);
    return STATUS_OK;
}

static Status
infer_onnx_arg(Call *call, InferContext *context)
{
    return drop_axis(
        call, context, node_attr_int(context->node, "axis"), node_attr_int(context->node, "keepdims") != 0);
}

#define ARG(name)                                                                                            \
    OP(name "(input:T, dimension:Tidx)->(output:output_type) {T:type, Tidx:type=DT_INT32, "                  \
            "output_type:type=DT_INT64}",                                                                    \
        0, infer_arg)
#define ONNX_ARG(name)                                                                                       \
    OP(name "(data:T)->(reduced:int64) {axis:int=0, keepdims:int=1, select_last_index:int=0, T:type}", 0,    \
        infer_onnx_arg)

/* One row for each element that is true; their number is known only when it runs. */
static Status
infer_where(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = shape_of_rank(2);
    context->outputs[0].dims[1] = context->inputs[0].rank;
    return STATUS_OK;
}

static const OpDefinition order_ops[] = {
    ARG("ArgMax"),
    ARG("ArgMin"),
    ONNX_ARG("onnx::ArgMax"),
    ONNX_ARG("onnx::ArgMin"),
    OP("TopK(input:T)->(values:T, indices:int32) {k:int, sorted:bool=true, T:type}", 0, infer_top_k),
    OP("TopKV2(input:T, k:int32)->(values:T, indices:int32) {sorted:bool=true, T:type, ~Tk:type=DT_INT32, "
       "~index_type:type=DT_INT32}",
        0, infer_top_k_v2),
    OP("onnx::TopK(X:T, K:int64)->(Values:T, Indices:int64) {axis:int=-1, largest:int=1, sorted:int=1, "
       "T:type}",
        0, infer_onnx_top_k),
    OP("onnx::NonZero(X:T)->(Y:int64) {T:type}", 0, infer_non_zero),
    OP("Where(input:T)->(index:int64) {T:type=DT_BOOL}", 0, infer_where),
};

OP_FAMILY(order, order_ops);
