/* Shapes of tensors, and the same elements under another shape. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/shape/rule.h"

static Status
infer_shape_of(Call *call, InferContext *context)
{
    (void)call;
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        int rank = context->inputs[index].rank;
        context->outputs[index] = shape_vector(rank);
    }
    return STATUS_OK;
}

static Status
infer_ensure_shape(Call *call, InferContext *context)
{
    const Shape *declared = &node_attr(context->node, "shape")->value.shape;
    if (!shape_merge(declared, &context->inputs[0], &context->outputs[0])) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the input has shape %s, not %s",
            shape_text(&context->inputs[0], left), shape_text(declared, right));
    }
    return STATUS_OK;
}

static Status
infer_reshape(Call *call, InferContext *context)
{
    return reshape_to(call, context, false);
}

static Status
infer_squeeze(Call *call, InferContext *context)
{
    int64_t axes[SHAPE_RANK_MAX];
    size_t count = node_attr_ints(context->node, "squeeze_dims", axes, SHAPE_RANK_MAX);
    return reshape_squeeze(call, context, axes, count);
}

/* `dim` counts in the result. */
static Status
infer_expand_dims(Call *call, InferContext *context)
{
    int64_t axis = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 1, &axis, &is_known));
    if (is_known) {
        return reshape_unsqueeze(call, context, &axis, 1);
    }
    int rank = context->inputs[0].rank;
    context->outputs[0] = rank < 0 || rank == SHAPE_RANK_MAX ? shape_unknown() : shape_of_rank(rank + 1);
    return STATUS_OK;
}

static Status
infer_broadcast_to(Call *call, InferContext *context)
{
    TRY(infer_shape_input(call, context, 1));
    Shape merged;
    const Shape *target = &context->outputs[0];
    const Shape *input = &context->inputs[0];
    if (shape_is_known(target) && shape_is_known(input) &&
        (!shape_broadcast(input, target, &merged) || !shape_equal(&merged, target))) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s does not broadcast to %s",
            shape_text(input, left), shape_text(target, right));
    }
    return STATUS_OK;
}

static const OpDefinition shape_ops[] = {
    OP("Shape(input:T)->(output:out_type) {T:type, out_type:type=DT_INT32}", 0, infer_shape_of),
    OP("ShapeN(input:N*T)->(output:N*out_type) {N:int>=1, T:type, out_type:type=DT_INT32}", 0,
        infer_shape_of),
    OP("Size(input:T)->(output:out_type) {T:type, out_type:type=DT_INT32}", 0, infer_scalar),
    OP("Rank(input:T)->(output:int32) {T:type}", 0, infer_scalar),
    OP("Reshape(tensor:T, shape:Tshape)->(output:T) {T:type, Tshape:type=DT_INT32}", 0, infer_reshape),
    OP("Squeeze(input:T)->(output:T) {T:type, squeeze_dims:list(int)=[]}", 0, infer_squeeze),
    OP("ExpandDims(input:T, dim:Tdim)->(output:T) {T:type, Tdim:type=DT_INT32}", 0, infer_expand_dims),
    OP("EnsureShape(input:T)->(output:T) {shape:shape, T:type}", 0, infer_ensure_shape),
    OP("BroadcastTo(input:T, shape:Tidx)->(output:T) {T:type, Tidx:type=DT_INT32}", 0, infer_broadcast_to),
};

OP_FAMILY(shape, shape_ops);
