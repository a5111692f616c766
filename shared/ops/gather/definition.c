/* Elements selected and placed by index. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The shape of params[…, indices, …], where the indices' shape replaces one dimension. */
static Status
take_along(Call *call, InferContext *context, int64_t axis, int64_t batch_dims)
{
    const Shape *params = &context->inputs[0];
    const Shape *indices = &context->inputs[1];
    int position = 0;
    if (params->rank < 0 || indices->rank < 0) {
        return STATUS_OK;
    }
    TRY(infer_axis(call, axis, params->rank, &position));
    batch_dims += batch_dims < 0 ? indices->rank : 0;
    if (batch_dims < 0 || batch_dims > position || batch_dims > indices->rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "batch_dims is %lld with axis %d and indices of rank %d", (long long)batch_dims, position,
            indices->rank);
    }
    for (int index = 0; index < (int)batch_dims; index++) {
        int64_t size = 0;
        TRY(infer_equal(call, params->dims[index], indices->dims[index], "a batch dimension", &size));
    }
    Shape output = shape_scalar();
    TRY(infer_append(call, params, 0, position, &output));
    TRY(infer_append(call, indices, (int)batch_dims, indices->rank, &output));
    TRY(infer_append(call, params, position + 1, params->rank, &output));
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

static Status
infer_gather(Call *call, InferContext *context)
{
    return take_along(call, context, 0, 0);
}

static Status
infer_gather_v2(Call *call, InferContext *context)
{
    int64_t axis = 0;
    bool is_known = false;
    TRY(infer_int(call, context, 2, &axis, &is_known));
    return is_known ? take_along(call, context, axis, node_attr_int(context->node, "batch_dims")) : STATUS_OK;
}

static Status
infer_onnx_gather(Call *call, InferContext *context)
{
    return take_along(call, context, node_attr_int(context->node, "axis"), 0);
}

/* The last dimension of the indices holds coordinates in the first dimensions of the params. */
static Status
infer_gather_nd(Call *call, InferContext *context)
{
    const Shape *params = &context->inputs[0];
    const Shape *indices = &context->inputs[1];
    int batch =
        node_attr(context->node, "batch_dims") == NULL ? 0 : (int)node_attr_int(context->node, "batch_dims");
    if (params->rank < 0 || indices->rank < 0) {
        return STATUS_OK;
    }
    if (batch < 0 || indices->rank <= batch || params->rank < batch) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "indices of rank %d have no coordinates", indices->rank);
    }
    int64_t depth = indices->dims[indices->rank - 1];
    if (depth < 0) {
        return STATUS_OK;
    }
    if (depth > params->rank - batch) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld coordinates for a tensor of rank %d",
            (long long)depth, params->rank);
    }
    for (int index = 0; index < batch; index++) {
        int64_t size = 0;
        TRY(infer_equal(call, params->dims[index], indices->dims[index], "a batch dimension", &size));
    }
    Shape output = shape_scalar();
    TRY(infer_append(call, indices, 0, indices->rank - 1, &output));
    TRY(infer_append(call, params, batch + (int)depth, params->rank, &output));
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

/* One index for each output element; outside the axis the indices are not larger than the data. */
static Status
infer_gather_elements(Call *call, InferContext *context)
{
    const Shape *data = &context->inputs[0];
    const Shape *indices = &context->inputs[1];
    int axis = 0;
    if (data->rank >= 0) {
        Shape same;
        TRY(infer_axis(call, node_attr_int(context->node, "axis"), data->rank, &axis));
        TRY(infer_rank(call, context, 1, data->rank, &same));
        for (int index = 0; index < data->rank; index++) {
            if (index != axis && data->dims[index] >= 0 && same.dims[index] > data->dims[index]) {
                return call_fail(call, STATUS_INVALID_ARGUMENT,
                    "dimension %d of the indices is %lld, above %lld", index, (long long)same.dims[index],
                    (long long)data->dims[index]);
            }
        }
    }
    context->outputs[0] = *indices;
    return STATUS_OK;
}

static Status
insert_depth(Call *call, InferContext *context, int64_t depth)
{
    const Shape *indices = &context->inputs[0];
    if (indices->rank < 0) {
        return STATUS_OK;
    }
    if (depth < -1 || indices->rank == SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "depth is %lld for indices of rank %d",
            (long long)depth, indices->rank);
    }
    int axis = 0;
    TRY(infer_axis(call, node_attr_int(context->node, "axis"), indices->rank + 1, &axis));
    Shape output = shape_scalar();
    Shape depth_shape = shape_vector(depth);
    TRY(infer_append(call, indices, 0, axis, &output));
    TRY(infer_append(call, &depth_shape, 0, 1, &output));
    TRY(infer_append(call, indices, axis, indices->rank, &output));
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

static Status
infer_one_hot(Call *call, InferContext *context)
{
    int64_t depth = -1;
    bool is_known = false;
    TRY(infer_int(call, context, 1, &depth, &is_known));
    if (is_known && depth < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "depth is %lld", (long long)depth);
    }
    return insert_depth(call, context, is_known ? depth : -1);
}

static const OpDefinition gather_ops[] = {
    OP("Gather(params:Tparams, indices:Tindices)->(output:Tparams) {validate_indices:bool=true, "
       "Tparams:type, Tindices:type}",
        0, infer_gather),
    OP("GatherV2(params:Tparams, indices:Tindices, axis:Taxis)->(output:Tparams) {batch_dims:int=0, "
       "Tparams:type, Tindices:type, Taxis:type}",
        0, infer_gather_v2),
    OP("GatherNd(params:Tparams, indices:Tindices)->(output:Tparams) {Tparams:type, Tindices:type, "
       "~bad_indices_policy:string=}",
        0, infer_gather_nd),
    OP("OneHot(indices:TI, depth:int32, on_value:T, off_value:T)->(output:T) {axis:int=-1, T:type, "
       "TI:type=DT_INT64}",
        0, infer_one_hot),
    OP("onnx::Gather(data:T, indices:Tind)->(output:T) {axis:int=0, T:type, Tind:type}", 0,
        infer_onnx_gather),
    OP("onnx::GatherND(data:T, indices:int64)->(output:T) {batch_dims:int=0, T:type}", 0, infer_gather_nd),
    OP("onnx::GatherElements(data:T, indices:Tind)->(output:T) {axis:int=0, T:type, Tind:type}", 0,
        infer_gather_elements),
};

OP_FAMILY(gather, gather_ops);
