/* ONNX's operators on shapes, in their newest forms: axes and shapes are inputs, negative axes count from
 * the end. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/shape/rule.h"

static int64_t
clamp_axis(int64_t axis, int rank)
{
    axis += axis < 0 ? rank : 0;
    return axis < 0 ? 0 : axis > rank ? rank : axis;
}

/* The dimensions from start to end, without end. */
static Status
infer_shape_of(Call *call, InferContext *context)
{
    (void)call;
    int rank = context->inputs[0].rank;
    context->outputs[0] = shape_of_rank(1);
    if (rank >= 0) {
        int64_t start = clamp_axis(node_attr_int(context->node, "start"), rank);
        int64_t end = clamp_axis(node_attr_int(context->node, "end"), rank);
        context->outputs[0].dims[0] = end > start ? end - start : 0;
    }
    return STATUS_OK;
}

static Status
infer_reshape(Call *call, InferContext *context)
{
    return reshape_to(call, context, node_attr_int(context->node, "allowzero") == 0);
}

static Status
infer_squeeze(Call *call, InferContext *context)
{
    int64_t axes[SHAPE_RANK_MAX];
    size_t count = 0;
    bool is_known = !infer_has_input(context, 1);
    if (!is_known) {
        TRY(infer_ints(call, context, 1, axes, SHAPE_RANK_MAX, &count));
        is_known = infer_knows(context, 1);
    }
    return is_known ? reshape_squeeze(call, context, axes, count) : STATUS_OK;
}

static Status
infer_unsqueeze(Call *call, InferContext *context)
{
    int64_t axes[SHAPE_RANK_MAX];
    size_t count = 0;
    bool is_known = false;
    TRY(infer_ints(call, context, 1, axes, SHAPE_RANK_MAX, &count));
    is_known = infer_knows(context, 1);
    return is_known ? reshape_unsqueeze(call, context, axes, count) : STATUS_OK;
}

static Status
infer_flatten(Call *call, InferContext *context)
{
    return reshape_flatten(call, context, node_attr_int(context->node, "axis"));
}

/* Both broadcast against each other: 1 in the shape keeps the input's dimension. */
static Status
infer_expand(Call *call, InferContext *context)
{
    Shape target = shape_scalar();
    size_t count = 0;
    bool is_known = false;
    TRY(infer_ints(call, context, 1, target.dims, SHAPE_RANK_MAX, &count));
    is_known = infer_knows(context, 1);
    if (!is_known) {
        return STATUS_OK;
    }
    target.rank = (int)count;
    for (int index = 0; index < target.rank; index++) {
        if (target.dims[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d of the shape is %lld", index,
                (long long)target.dims[index]);
        }
    }
    if (!shape_broadcast(&context->inputs[0], &target, &context->outputs[0])) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s does not broadcast to %s",
            shape_text(&context->inputs[0], left), shape_text(&target, right));
    }
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition onnx_shape_ops[] = {
    OP("onnx::Shape(data:T)->(shape:int64) {start:int=0, end:int=9223372036854775807, T:type}", 0,
        infer_shape_of),
    OP("onnx::Size(data:T)->(size:int64) {T:type}", 0, infer_scalar),
    OP("onnx::Reshape(data:T, shape:int64)->(reshaped:T) {allowzero:int=0, T:type}", 0, infer_reshape),
    OP("onnx::Squeeze(data:T, axes?:int64)->(squeezed:T) {T:type}", 0, infer_squeeze),
    OP("onnx::Unsqueeze(data:T, axes:int64)->(expanded:T) {T:type}", 0, infer_unsqueeze),
    OP("onnx::Flatten(input:T)->(output:T) {axis:int=1, T:type}", 0, infer_flatten),
    OP("onnx::Expand(input:T, shape:int64)->(output:T) {T:type}", 0, infer_expand),
};

OP_FAMILY(shape_onnx, onnx_shape_ops);
