/* Gradients of ops that choose, pad and normalise. Those of convolutions, pools and of functions stand beside
 * them. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/slicing.h"
#include "shared/ops/window.h"

/* --- Slices --------------------------------------------------------------------------------------------- */

/* Input 0 holds the shape that was sliced; the others say how, as for StridedSlice, and what came of it. */
static Status
infer_strided_slice_grad(Call *call, InferContext *context)
{
    Shape shape = shape_scalar();
    size_t count = 0;
    TRY(infer_ints(call, context, 0, shape.dims, SHAPE_RANK_MAX, &count));
    if (!infer_knows(context, 0)) {
        return STATUS_OK;
    }
    shape.rank = (int)count;
    TRY(infer_check_size(call, &shape));
    const InferContext forward = {.node = context->node, .inputs = &shape, .values = context->values};
    Slicing slicing;
    Shape merged;
    TRY(slicing_strided(call, &forward, &slicing));
    if (slicing.is_known && !shape_merge(&slicing.output, &context->inputs[4], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the output's gradient has shape %s, not %s",
            shape_text(&context->inputs[4], left), shape_text(&slicing.output, right));
    }
    context->outputs[0] = shape;
    return STATUS_OK;
}

/* --- Borders -------------------------------------------------------------------------------------------- */

static Status
cut_border(Call *call, const Tensor *paddings, int64_t dimension, bool is_symmetric, int64_t *size)
{
    int64_t before = 0;
    int64_t after = 0;
    const bool are_numbers = tensor_to_int64(paddings, 2 * dimension, &before) &&
                             tensor_to_int64(paddings, 2 * dimension + 1, &after);
    if (!are_numbers || before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "paddings of dimension %lld are not within 0 to %d",
            (long long)dimension, INT32_MAX);
    }
    if (*size < 0) {
        return STATUS_OK;
    }
    const int64_t inner = *size - before - after;
    const int64_t most = is_symmetric ? inner : inner - 1;
    if (inner < 0 || before > most || after > most) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "dimension %lld of %lld is no mirror padded by %lld and %lld", (long long)dimension,
            (long long)*size, (long long)before, (long long)after);
    }
    *size = inner;
    return STATUS_OK;
}

static Status
infer_mirror_pad_grad(Call *call, InferContext *context)
{
    Shape shape = context->inputs[0];
    Shape borders;
    TRY(infer_rank(call, context, 1, 2, &borders));
    if (!infer_knows(context, 1) || shape.rank < 0) {
        context->outputs[0] = shape.rank < 0 ? shape_unknown() : shape_of_rank(shape.rank);
        return STATUS_OK;
    }
    if (borders.dims[0] != shape.rank || borders.dims[1] != 2) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "paddings have shape %s, not [%d,2]",
            shape_text(&borders, text), shape.rank);
    }
    const bool is_symmetric = slice_equal(node_attr_string(context->node, "mode"), SLICE("SYMMETRIC"));
    for (int index = 0; index < shape.rank; index++) {
        TRY(cut_border(call, context->values[1], index, is_symmetric, &shape.dims[index]));
    }
    context->outputs[0] = shape;
    return STATUS_OK;
}

/* --- Normalisation -------------------------------------------------------------------------------------- */

static Status
infer_batch_norm_grad(Call *call, InferContext *context)
{
    Shape gradient;
    Shape x;
    Shape merged;
    const bool is_channels_first =
        slice_starts_with(node_attr_string(context->node, "data_format"), SLICE("NC"));
    TRY(infer_rank(call, context, 0, 4, &gradient));
    TRY(infer_rank(call, context, 1, 4, &x));
    if (!shape_merge(&gradient, &x, &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the output's gradient has shape %s, not %s",
            shape_text(&gradient, left), shape_text(&x, right));
    }
    int64_t *channels = &merged.dims[is_channels_first ? 1 : 3];
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

static const OpDefinition gradient_ops[] = {
    OP("StridedSliceGrad(shape:Index, begin:Index, end:Index, strides:Index, dy:T)->(output:T) {T:type, "
       "Index:type, begin_mask:int=0, end_mask:int=0, ellipsis_mask:int=0, new_axis_mask:int=0, "
       "shrink_axis_mask:int=0}",
        0, infer_strided_slice_grad),
    OP("MirrorPadGrad(input:T, paddings:Tpaddings)->(output:T) {T:type, Tpaddings:type=DT_INT32, "
       "mode:string}",
        0, infer_mirror_pad_grad),
    OP("LRNGrad(input_grads:T, input_image:T, output_image:T)->(output:T) {depth_radius:int=5, bias:float=1, "
       "alpha:float=1, beta:float=0.5, T:type=DT_FLOAT}",
        0, infer_lrn_grad),
    BATCH_NORM_GRADIENT("FusedBatchNormGrad", "scale:T, reserve_space_1:T, reserve_space_2:T",
        "T, offset_backprop:T, reserve_space_3:T, reserve_space_4:T) {T:type, "),
    BATCH_NORM_GRADIENT("FusedBatchNormGradV2", "scale:float, reserve_space_1:U, reserve_space_2:U",
        "U, offset_backprop:U, reserve_space_3:U, reserve_space_4:U) {T:type, U:type, "),
    BATCH_NORM_GRADIENT("FusedBatchNormGradV3",
        "scale:float, reserve_space_1:U, reserve_space_2:U, reserve_space_3:U",
        "U, offset_backprop:U, reserve_space_4:U, reserve_space_5:U) {T:type, U:type, "),
};

OP_FAMILY(gradient, gradient_ops);
