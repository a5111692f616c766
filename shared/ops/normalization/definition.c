/* Biases, batch and layer normalisation, softmax in ONNX's form. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* --- TensorFlow ----------------------------------------------------------------------------------------- */

static bool
is_channels_first(const Node *node)
{
    return node_attr(node, "data_format") != NULL &&
           slice_starts_with(node_attr_string(node, "data_format"), SLICE("NC"));
}

/* One number a channel; channels are the last dimension or, in NC… formats, the second. */
static Status
infer_bias_add(Call *call, InferContext *context)
{
    Shape value = context->inputs[0];
    Shape bias;
    TRY(infer_rank(call, context, 1, 1, &bias));
    if (value.rank < 0) {
        return STATUS_OK;
    }
    if (value.rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a value of rank %d has no channels", value.rank);
    }
    int64_t *channels = &value.dims[is_channels_first(context->node) ? 1 : value.rank - 1];
    TRY(infer_equal(call, *channels, bias.dims[0], "the number of channels", channels));
    context->outputs[0] = value;
    return STATUS_OK;
}

static Status
infer_bias_add_grad(Call *call, InferContext *context)
{
    (void)call;
    const Shape *value = &context->inputs[0];
    const bool is_known = value->rank >= 2;
    context->outputs[0] =
        shape_vector(is_known ? value->dims[is_channels_first(context->node) ? 1 : value->rank - 1] : -1);
    return STATUS_OK;
}

/* Statistics may be empty in training, where they are computed. */
static Status
infer_fused_batch_norm(Call *call, InferContext *context)
{
    Shape x;
    TRY(infer_rank(call, context, 0, 4, &x));
    int64_t *channels = &x.dims[is_channels_first(context->node) ? 1 : 3];
    const bool is_training = node_attr_bool(context->node, "is_training");
    for (uint32_t index = 1; index <= 4; index++) {
        Shape vector;
        TRY(infer_rank(call, context, index, 1, &vector));
        if (index <= 2 || !is_training) {
            TRY(infer_equal(call, *channels, vector.dims[0], "the number of channels", channels));
        }
    }
    context->outputs[0] = x;
    for (uint32_t index = 1; index < context->node->output_count; index++) {
        context->outputs[index] = index < 5 ? shape_vector(*channels) : shape_scalar();
    }
    return STATUS_OK;
}

/* --- ONNX ----------------------------------------------------------------------------------------------- */

static Status
infer_along_axis(Call *call, InferContext *context)
{
    int axis = 0;
    if (context->inputs[0].rank >= 0) {
        TRY(infer_axis(call, node_attr_int(context->node, "axis"), context->inputs[0].rank, &axis));
    }
    return infer_unchanged(call, context);
}

/* Scale, bias and statistics hold one number a channel, the second dimension. */
static Status
infer_channel_norm(Call *call, InferContext *context)
{
    Shape x = context->inputs[0];
    if (x.rank >= 0 && x.rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an input of rank %d has no channels", x.rank);
    }
    int64_t channels = x.rank < 0 ? -1 : x.dims[1];
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        Shape vector;
        TRY(infer_rank(call, context, index, 1, &vector));
        TRY(infer_equal(call, channels, vector.dims[0], "the number of channels", &channels));
    }
    if (x.rank >= 0) {
        x.dims[1] = channels;
    }
    context->outputs[0] = x;
    for (uint32_t index = 1; index < context->node->output_count; index++) {
        context->outputs[index] = shape_vector(channels);
    }
    return STATUS_OK;
}

/* Mean and deviation keep the dimensions before the axis, and ones behind. */
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

static const OpDefinition normalization_ops[] = {
    OP("BiasAdd(value:T, bias:T)->(output:T) {T:type, data_format:string=NHWC}", OP_ELEMENTWISE,
        infer_bias_add),
    OP("BiasAddV1(value:T, bias:T)->(output:T) {T:type}", OP_ELEMENTWISE, infer_bias_add),
    OP("BiasAddGrad(out_backprop:T)->(output:T) {T:type, data_format:string=NHWC}", 0, infer_bias_add_grad),
    OP("FusedBatchNorm(x:T, scale:T, offset:T, mean:T, variance:T)->(y:T, batch_mean:T, batch_variance:T, "
       "reserve_space_1:T, reserve_space_2:T) {T:type, epsilon:float=0.0001, data_format:string=NHWC, "
       "is_training:bool=true, ~exponential_avg_factor:float=1}",
        0, infer_fused_batch_norm),
    OP("FusedBatchNormV2(x:T, scale:U, offset:U, mean:U, variance:U)->(y:T, batch_mean:U, batch_variance:U, "
       "reserve_space_1:U, reserve_space_2:U) {T:type, U:type, epsilon:float=0.0001, "
       "data_format:string=NHWC, "
       "is_training:bool=true, ~exponential_avg_factor:float=1}",
        0, infer_fused_batch_norm),
    OP("FusedBatchNormV3(x:T, scale:U, offset:U, mean:U, variance:U)->(y:T, batch_mean:U, batch_variance:U, "
       "reserve_space_1:U, reserve_space_2:U, reserve_space_3:U) {T:type, U:type, epsilon:float=0.0001, "
       "data_format:string=NHWC, is_training:bool=true, ~exponential_avg_factor:float=1}",
        0, infer_fused_batch_norm),
    OP("LRN(input:T)->(output:T) {depth_radius:int=5, bias:float=1, alpha:float=1, beta:float=0.5, "
       "T:type=DT_FLOAT}",
        0, infer_unchanged),
    OP("onnx::Softmax(input:T)->(output:T) {axis:int=-1, T:type}", 0, infer_along_axis),
    OP("onnx::LogSoftmax(input:T)->(output:T) {axis:int=-1, T:type}", 0, infer_along_axis),
    OP("onnx::Hardmax(input:T)->(output:T) {axis:int=-1, T:type}", 0, infer_along_axis),
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
