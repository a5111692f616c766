/* onnx::CenterCropPad: the middle of a tensor, or a tensor in the middle of zeros. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
set_sizes(Call *call, const InferContext *context, const int64_t *sizes, size_t count, Shape *output)
{
    int64_t axes[SHAPE_RANK_MAX];
    size_t named = node_attr_ints(context->node, "axes", axes, SHAPE_RANK_MAX);
    if (named > SHAPE_RANK_MAX || count != (named == 0 ? (size_t)output->rank : named)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%zu sizes for %zu dimensions", count,
            named == 0 ? (size_t)output->rank : named);
    }
    for (size_t index = 0; index < count; index++) {
        int axis = (int)index;
        if (named > 0) {
            TRY(infer_axis(call, axes[index], output->rank, &axis));
        }
        if (sizes[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is %lld, not at least 0", axis,
                (long long)sizes[index]);
        }
        output->dims[axis] = sizes[index];
    }
    return infer_check_size(call, output);
}

static Status
infer_center(Call *call, InferContext *context)
{
    int64_t sizes[SHAPE_RANK_MAX];
    size_t count = 0;
    Shape output = context->inputs[0];
    TRY(infer_ints(call, context, 1, sizes, SHAPE_RANK_MAX, &count));
    if (output.rank < 0) {
        return STATUS_OK;
    }
    if (!infer_knows(context, 1)) {
        context->outputs[0] = shape_of_rank(output.rank);
        return STATUS_OK;
    }
    TRY(set_sizes(call, context, sizes, count, &output));
    context->outputs[0] = output;
    return STATUS_OK;
}

static const OpDefinition center_ops[] = {
    OP("onnx::CenterCropPad(input_data:T, shape:Tind)->(output_data:T) {axes:list(int)=[], T:type, "
       "Tind:type}",
        0, infer_center),
};

OP_FAMILY(pad_center, center_ops);
