/* onnx::Compress: the slices along an axis for which a condition holds. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The number of slices that are kept is known only when the node runs. Without an axis, whose default is no
 * axis of any tensor, elements are kept. */
static Status
infer_compress(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    int64_t given = node_attr_int(context->node, "axis");
    Shape condition;
    TRY(infer_rank(call, context, 1, 1, &condition));
    if (given == INT64_MIN) {
        context->outputs[0] = shape_of_rank(1);
        return STATUS_OK;
    }
    if (input->rank < 0) {
        return STATUS_OK;
    }
    int axis = 0;
    TRY(infer_axis(call, given, input->rank, &axis));
    context->outputs[0] = *input;
    context->outputs[0].dims[axis] = -1;
    return STATUS_OK;
}

static const OpDefinition compress_ops[] = {
    OP("onnx::Compress(input:T, condition:bool)->(output:T) {axis:int=-9223372036854775808, T:type}", 0,
        infer_compress),
};

OP_FAMILY(gather_compress, compress_ops);
