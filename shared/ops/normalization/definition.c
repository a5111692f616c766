/* Batch, instance, layer and local response normalisation, with their gradients. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/layout.h"

static Status
infer_bias_add_grad(Call *call, InferContext *context)
{
    (void)call;
    const Shape *value = &context->inputs[0];
    bool is_known = value->rank >= 2;
    context->outputs[0] =
        shape_vector(is_known ? value->dims[layout_channel(context->node, value->rank)] : -1);
    return STATUS_OK;
}

/* The given statistics may be empty in training, where they are computed, unless they are averaged with what
 * is computed. */
static Status
infer_fused_batch_norm(Call *call, InferContext *context)
{
    Shape x;
    TRY(infer_rank(call, context, 0, 4, &x));
    int64_t *channels = &x.dims[layout_channel(context->node, x.rank)];
    const AttrValue *factor = node_attr(context->node, "exponential_avg_factor");
    bool are_given =
        !node_attr_bool(context->node, "is_training") || (factor != NULL && factor->value.f != 1);
    for (uint32_t index = 1; index <= 4; index++) {
        Shape vector;
        TRY(infer_rank(call, context, index, 1, &vector));
        if (index <= 2 || are_given) {
            TRY(infer_equal(call, *channels, vector.dims[0], "the number of channels", channels));
        }
    }
    context->outputs[0] = x;
    for (uint32_t index = 1; index < context->node->output_count; index++) {
        context->outputs[index] = index < 5 ? shape_vector(*channels) : shape_scalar();
    }
    return STATUS_OK;
}

/* Scale, bias and statistics hold one number a channel, the second dimension of an image as its author has
 * it. */
static Status
infer_channel_norm(Call *call, InferContext *context)
{
    Shape x = context->inputs[0];
    if (x.rank >= 0 && x.rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an input of rank %d has no channels", x.rank);
    }
    int dimension = layout_onnx_channel(context->node, x.rank);
    int64_t channels = x.rank < 0 ? -1 : x.dims[dimension];
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        Shape vector;
        TRY(infer_rank(call, context, index, 1, &vector));
        TRY(infer_equal(call, channels, vector.dims[0], "the number of channels", &channels));
    }
    if (x.rank >= 0) {
        x.dims[dimension] = channels;
    }
    context->outputs[0] = x;
    for (uint32_t index = 1; index < context->node->output_count; index++) {
        context->outputs[index] = shape_vector(channels);
    }
    return STATUS_OK;
}

/* Mean and deviation keep the dimensions before the axis; the others are 1. */
static Status
infer_layer_norm(Call *call, InferContext *context)
{
    const Shape *x = &context->inputs[0];
    if (x->rank < 0) {
        return STATUS_OK;
    }
    int axis = 0;
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), x->rank, &axis));
    Shape statistics = *x;
    for (int index = axis; index < x->rank; index++) {
        statistics.dims[index] = 1;
    }
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        Shape merged;
        if (infer_has_input(context, index) && shape_is_known(x) && shape_is_known(&context->inputs[index]) &&
            (!shape_broadcast(x, &context->inputs[index], &merged) || !shape_equal(&merged, x))) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s does not broadcast to %s",
                shape_text(&context->inputs[index], left), shape_text(x, right));
        }
    }
    context->outputs[0] = *x;
    context->outputs[1] = statistics;
    context->outputs[2] = statistics;
    return STATUS_OK;
}

static Status
infer_batch_norm_grad(Call *call, InferContext *context)
{
    Shape gradient;
    Shape x;
    Shape merged;
    TRY(infer_rank(call, context, 0, 4, &gradient));
    TRY(infer_rank(call, context, 1, 4, &x));
    if (!shape_merge(&gradient, &x, &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the output's gradient has shape %s, not %s",
            shape_text(&gradient, left), shape_text(&x, right));
    }
    int64_t *channels = &merged.dims[layout_channel(context->node, merged.rank)];
    for (uint32_t index = 2; index <= 4; index++) {
        Shape vector;
        TRY(infer_rank(call, context, index, 1, &vector));
        TRY(infer_equal(call, *channels, vector.dims[0], "the number of channels", channels));
    }
    context->outputs[0] = merged;
    context->outputs[1] = shape_vector(*channels);
    context->outputs[2] = shape_vector(*channels);
    context->outputs[3] = shape_vector(0);
    context->outputs[4] = shape_vector(0);
    return STATUS_OK;
}

static Status
infer_lrn_grad(Call *call, InferContext *context)
{
    Shape merged;
    TRY(infer_rank(call, context, 0, 4, &merged));
    for (uint32_t index = 1; index < 3; index++) {
        if (!shape_merge(&merged, &context->inputs[index], &merged)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not %s", index,
                shape_text(&context->inputs[index], left), shape_text(&merged, right));
        }
    }
    context->outputs[0] = merged;
    return STATUS_OK;
}

#define BATCH_NORM_GRADIENT(name, last, types)                                                               \
    OP(name "(y_backprop:T, x:T, " last ")->(x_backprop:T, scale_backprop:" types                            \
            "epsilon:float=0.0001, data_format:string=NHWC, is_training:bool=true}",                         \
        0, infer_batch_norm_grad)

static const OpDefinition normalization_ops[] = {
    OP("BiasAddGrad(out_backprop:T)->(output:T) {T:type, data_format:string=NHWC}", 0, infer_bias_add_grad),
    OP("FusedBatchNorm(x:T, scale:T, offset:T, mean:T, variance:T)->(y:T, batch_mean:T, batch_variance:T, "
       "reserve_space_1:T, reserve_space_2:T) {T:type, epsilon:float=0.0001, data_format:string=NHWC, "
       "is_training:bool=true, exponential_avg_factor:float=1}",
        0, infer_fused_batch_norm),
    OP("FusedBatchNormV2(x:T, scale:U, offset:U, mean:U, variance:U)->(y:T, batch_mean:U, batch_variance:U, "
       "reserve_space_1:U, reserve_space_2:U) {T:type, U:type, epsilon:float=0.0001, "
       "data_format:string=NHWC, is_training:bool=true, exponential_avg_factor:float=1}",
        0, infer_fused_batch_norm),
    OP("FusedBatchNormV3(x:T, scale:U, offset:U, mean:U, variance:U)->(y:T, batch_mean:U, batch_variance:U, "
       "reserve_space_1:U, reserve_space_2:U, reserve_space_3:U) {T:type, U:type, epsilon:float=0.0001, "
       "data_format:string=NHWC, is_training:bool=true, exponential_avg_factor:float=1}",
        0, infer_fused_batch_norm),
    BATCH_NORM_GRADIENT("FusedBatchNormGrad", "scale:T, reserve_space_1:T, reserve_space_2:T",
        "T, offset_backprop:T, reserve_space_3:T, reserve_space_4:T) {T:type, "),
    BATCH_NORM_GRADIENT("FusedBatchNormGradV2", "scale:float, reserve_space_1:U, reserve_space_2:U",
        "U, offset_backprop:U, reserve_space_3:U, reserve_space_4:U) {T:type, U:type, "),
    BATCH_NORM_GRADIENT("FusedBatchNormGradV3",
        "scale:float, reserve_space_1:U, reserve_space_2:U, reserve_space_3:U",
        "U, offset_backprop:U, reserve_space_4:U, reserve_space_5:U) {T:type, U:type, "),
    OP("LRN(input:T)->(output:T) {depth_radius:int=5, bias:float=1, alpha:float=1, beta:float=0.5, "
       "T:type=DT_FLOAT}",
        0, infer_unchanged),
    OP("LRNGrad(input_grads:T, input_image:T, output_image:T)->(output:T) {depth_radius:int=5, bias:float=1, "
       "alpha:float=1, beta:float=0.5, T:type=DT_FLOAT}",
        0, infer_lrn_grad),
    OP("onnx::BatchNormalization(X:T, scale:T1, B:T1, input_mean:T2, input_var:T2)->(Y:T, running_mean?:T2, "
       "running_var?:T2) {epsilon:float=1e-05, momentum:float=0.9, training_mode:int=0, T:type, T1:type, "
       "T2:type}",
        0, infer_channel_norm),
    OP("onnx::InstanceNormalization(input:T, scale:T, B:T)->(output:T) {epsilon:float=1e-05, T:type}", 0,
        infer_channel_norm),
    OP("onnx::LayerNormalization(X:T, Scale:T, B?:T)->(Y:T, Mean?:float, InvStdDev?:float) {axis:int=-1, "
       "epsilon:float=1e-05, stash_type:int=1, T:type}",
        0, infer_layer_norm),
    OP("onnx::LRN(X:T)->(Y:T) {alpha:float=0.0001, beta:float=0.75, bias:float=1, size:int, T:type}", 0,
        infer_unchanged),
};

OP_FAMILY(normalization, normalization_ops);
