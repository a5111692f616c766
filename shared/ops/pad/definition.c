/* Tensors with a border. */
#include "shared/ops/family.h"
#include "shared/ops/pad/rule.h"

static Status
infer_pad(Call *call, InferContext *context)
{
    PaddingPlan plan;
    TRY(padding_read(call, context, &plan));
    context->outputs[0] = plan.output;
    return STATUS_OK;
}

static Status
cut_border(Call *call, const Tensor *paddings, int64_t dimension, bool is_symmetric, int64_t *size)
{
    int64_t before = 0;
    int64_t after = 0;
    bool are_numbers = tensor_to_int64(paddings, 2 * dimension, &before) &&
                       tensor_to_int64(paddings, 2 * dimension + 1, &after);
    if (!are_numbers || before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "paddings of dimension %lld are not within 0 to %d",
            (long long)dimension, INT32_MAX);
    }
    if (*size < 0) {
        return STATUS_OK;
    }
    int64_t inner = *size - before - after;
    int64_t most = is_symmetric ? inner : inner - 1;
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
    bool is_symmetric = slice_equal(node_attr_string(context->node, "mode"), SLICE("SYMMETRIC"));
    for (int index = 0; index < shape.rank; index++) {
        TRY(cut_border(call, context->values[1], index, is_symmetric, &shape.dims[index]));
    }
    context->outputs[0] = shape;
    return STATUS_OK;
}

static const OpDefinition pad_ops[] = {
    OP("Pad(input:T, paddings:Tpaddings)->(output:T) {T:type, Tpaddings:type=DT_INT32}", 0, infer_pad),
    OP("PadV2(input:T, paddings:Tpaddings, constant_values:T)->(output:T) {T:type, Tpaddings:type=DT_INT32}",
        0, infer_pad),
    OP("MirrorPad(input:T, paddings:Tpaddings)->(output:T) {T:type, Tpaddings:type=DT_INT32, mode:string}", 0,
        infer_pad),
    OP("MirrorPadGrad(input:T, paddings:Tpaddings)->(output:T) {T:type, Tpaddings:type=DT_INT32, "
       "mode:string}",
        0, infer_mirror_pad_grad),
    OP("onnx::Pad(data:T, pads:int64, constant_value?:T, axes?:Tind)->(output:T) {mode:string=constant, "
       "T:type, Tind:type}",
        0, infer_pad),
};

OP_FAMILY(pad, pad_ops);
