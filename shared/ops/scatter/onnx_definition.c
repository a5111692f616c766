/* ONNX's scatters: slices at coordinates, elements at positions along an axis. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Checks that the indices have an update each, and are within the data but along the axis. */
static Status
check_positions(Call *call, InferContext *context, const Shape *data)
{
    Shape indices;
    Shape updates;
    int axis = 0;
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), data->rank, &axis));
    TRY(infer_rank(call, context, 1, data->rank, &indices));
    TRY(infer_rank(call, context, 2, data->rank, &updates));
    for (int index = 0; index < data->rank; index++) {
        int64_t size = 0;
        TRY(infer_equal(call, indices.dims[index], updates.dims[index], "a dimension of the indices", &size));
        if (index != axis && data->dims[index] >= 0 && size > data->dims[index]) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d of the indices is %lld, above %lld",
                index, (long long)size, (long long)data->dims[index]);
        }
    }
    return STATUS_OK;
}

static Status
infer_scatter_elements(Call *call, InferContext *context)
{
    const Shape *data = &context->inputs[0];
    if (data->rank >= 0) {
        TRY(check_positions(call, context, data));
    }
    context->outputs[0] = *data;
    return STATUS_OK;
}

static const OpDefinition onnx_scatter_ops[] = {
    OP("onnx::ScatterElements(data:T, indices:Tind, updates:T)->(output:T) {axis:int=0, "
       "reduction:string=none, T:type, Tind:type}",
        0, infer_scatter_elements),
};

OP_FAMILY(scatter_onnx, onnx_scatter_ops);
