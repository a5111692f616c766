/* Slices written or added at coordinates. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The last dimension of the indices holds coordinates; the updates have the shape of the slices that these
 * name. */
static Status
check_updates(Call *call, const Shape *target, const Shape *indices, const Shape *updates)
{
    if (target->rank < 0 || indices->rank < 0 || updates->rank < 0) {
        return STATUS_OK;
    }
    int64_t depth = indices->rank == 0 ? -1 : indices->dims[indices->rank - 1];
    if (indices->rank == 0 || depth > target->rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld coordinates for a tensor of rank %d",
            (long long)depth, target->rank);
    }
    if (depth < 0) {
        return STATUS_OK;
    }
    Shape expected = *indices;
    expected.rank--;
    TRY(infer_append(call, target, (int)depth, target->rank, &expected));
    Shape merged;
    if (!shape_merge(&expected, updates, &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the updates have shape %s, not %s",
            shape_text(updates, left), shape_text(&expected, right));
    }
    return STATUS_OK;
}

static Status
infer_scatter_nd(Call *call, InferContext *context)
{
    Shape shape = shape_scalar();
    size_t count = 0;
    TRY(infer_ints(call, context, 2, shape.dims, SHAPE_RANK_MAX, &count));
    if (!infer_knows(context, 2)) {
        return STATUS_OK;
    }
    shape.rank = (int)count;
    for (int index = 0; index < shape.rank; index++) {
        if (shape.dims[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is %lld, not at least 0", index,
                (long long)shape.dims[index]);
        }
    }
    TRY(infer_check_size(call, &shape));
    TRY(check_updates(call, &shape, &context->inputs[0], &context->inputs[1]));
    context->outputs[0] = shape;
    return STATUS_OK;
}

static Status
infer_tensor_scatter(Call *call, InferContext *context)
{
    TRY(check_updates(call, &context->inputs[0], &context->inputs[1], &context->inputs[2]));
    context->outputs[0] = context->inputs[0];
    return STATUS_OK;
}

#define TENSOR_SCATTER(name)                                                                                 \
    OP(name "(tensor:T, indices:Tindices, updates:T)->(output:T) {T:type, Tindices:type, "                   \
            "~bad_indices_policy:string=}",                                                                  \
        0, infer_tensor_scatter)

static const OpDefinition scatter_ops[] = {
    TENSOR_SCATTER("TensorScatterUpdate"),
    TENSOR_SCATTER("TensorScatterAdd"),
    TENSOR_SCATTER("TensorScatterSub"),
    TENSOR_SCATTER("TensorScatterMin"),
    TENSOR_SCATTER("TensorScatterMax"),
    OP("ScatterNd(indices:Tindices, updates:T, shape:Tindices)->(output:T) {T:type, Tindices:type, "
       "~bad_indices_policy:string=}",
        0, infer_scatter_nd),
    OP("ScatterNdNonAliasingAdd(input:T, indices:Tindices, updates:T)->(output:T) {T:type, Tindices:type, "
       "~bad_indices_policy:string=}",
        0, infer_tensor_scatter),
    OP("onnx::ScatterND(data:T, indices:int64, updates:T)->(output:T) {reduction:string=none, T:type}", 0,
        infer_tensor_scatter),
};

OP_FAMILY(scatter, scatter_ops);
