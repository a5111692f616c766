/* ONNX's normalisations by statistics of rows, of groups of channels and of chosen axes. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The scale may have any shape that broadcasts to the input's. */
static Status
infer_rms_norm(Call *call, InferContext *context)
{
    const Shape *x = &context->inputs[0];
    const Shape *scale = &context->inputs[1];
    int axis = 0;
    Shape merged;
    if (x->rank < 0) {
        return STATUS_OK;
    }
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), x->rank, &axis));
    if (shape_is_known(x) && shape_is_known(scale) &&
        (!shape_broadcast(x, scale, &merged) || !shape_equal(&merged, x))) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s does not broadcast to %s",
            shape_text(scale, left), shape_text(x, right));
    }
    context->outputs[0] = *x;
    return STATUS_OK;
}

static Status
check_group_count(Call *call, int64_t groups, int64_t channels)
{
    if (groups < 1) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "num_groups is %lld, not at least 1", (long long)groups);
    }
    if (channels >= 0 && channels % groups != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld channels cannot be cut into %lld groups",
            (long long)channels, (long long)groups);
    }
    return STATUS_OK;
}

/* Scale and bias have a number for each channel, or for each group: so GroupNormalization-18 has it. */
static Status
infer_group_norm(Call *call, InferContext *context)
{
    Shape x = context->inputs[0];
    if (x.rank >= 0 && x.rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an input of rank %d has no channels", x.rank);
    }
    int64_t groups = node_attr_int(context->node, "num_groups");
    bool is_of_group = node_attr_int(context->node, "scales_groups") != 0;
    int64_t channels = x.rank < 0 ? -1 : x.dims[1];
    int64_t expected = is_of_group ? groups : channels;
    TRY(check_group_count(call, groups, channels));
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        Shape vector;
        TRY(infer_rank(call, context, index, 1, &vector));
        TRY(infer_equal(call, expected, vector.dims[0],
            is_of_group ? "the number of groups" : "the number of channels", &expected));
    }
    if (x.rank >= 0 && !is_of_group) {
        x.dims[1] = expected;
        TRY(check_group_count(call, groups, expected));
    }
    context->outputs[0] = x;
    return STATUS_OK;
}

static Status
infer_by_axes(Call *call, InferContext *context)
{
    const AttrValue *axes = node_attr(context->node, "axes");
    const Shape *x = &context->inputs[0];
    for (size_t index = 0; x->rank >= 0 && index < axes->value.list.count; index++) {
        int axis = 0;
        TRY(infer_axis(call, axes->value.list.items[index].value.i, x->rank, &axis));
    }
    context->outputs[0] = *x;
    return STATUS_OK;
}

static Status
infer_lp_norm(Call *call, InferContext *context)
{
    const Shape *x = &context->inputs[0];
    int64_t p = node_attr_int(context->node, "p");
    int axis = 0;
    if (p != 1 && p != 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "p is %lld, neither 1 nor 2", (long long)p);
    }
    TRY(x->rank < 0 ? STATUS_OK : infer_axis(call, node_attr_int(context->node, "axis"), x->rank, &axis));
    context->outputs[0] = *x;
    return STATUS_OK;
}

static const OpDefinition normalization_onnx_ops[] = {
    OP("onnx::GroupNormalization(X:T, scale:T, bias:T)->(Y:T) {epsilon:float=1e-05, num_groups:int, "
       "stash_type:int=1, scales_groups:int=0, T:type}",
        0, infer_group_norm),
    OP("onnx::LpNormalization(input:T)->(output:T) {axis:int=-1, p:int=2, T:type}", 0, infer_lp_norm),
    OP("onnx::MeanVarianceNormalization(X:T)->(Y:T) {axes:list(int)=[0,2,3], T:type}", 0, infer_by_axes),
    OP("onnx::RMSNormalization(X:T, scale:V)->(Y:V) {axis:int=-1, epsilon:float=1e-05, stash_type:int=1, "
       "T:type, V:type}",
        0, infer_rms_norm),
};

OP_FAMILY(normalization_onnx, normalization_onnx_ops);
