/* onnx::OneHot, whose indices and depth are of any dtype. */
#include "shared/ops/family.h"
#include "shared/ops/gather/one_hot_rule.h"
#include "shared/ops/infer.h"

static Status
infer_onnx_one_hot(Call *call, InferContext *context)
{
    const Shape *indices = &context->inputs[0];
    int64_t depth = -1;
    TRY(one_hot_depth(call, context, &depth));
    if (indices->rank < 0) {
        return STATUS_OK;
    }
    int axis = 0;
    Shape output = shape_scalar();
    Shape inserted = shape_vector(depth);
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), indices->rank + 1, &axis));
    TRY(infer_append(call, indices, 0, axis, &output));
    TRY(infer_append(call, &inserted, 0, 1, &output));
    TRY(infer_append(call, indices, axis, indices->rank, &output));
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

static const OpDefinition one_hot_ops[] = {
    OP("onnx::OneHot(indices:T1, depth:T2, values:T3)->(output:T3) {axis:int=-1, T1:type, T2:type, T3:type}",
        0, infer_onnx_one_hot),
};

OP_FAMILY(gather_one_hot, one_hot_ops);
