/* TensorArrays, which live as long as a step. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_first(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = shape_scalar();
    return STATUS_OK;
}

/* The output has a row of the declared shape for each index. */
static Status
infer_gather(Call *call, InferContext *context)
{
    const Shape *element = &node_attr(context->node, "element_shape")->value.shape;
    Shape indices;
    TRY(infer_rank(call, context, 1, 1, &indices));
    if (element->rank < 0 || element->rank == SHAPE_RANK_MAX) {
        return STATUS_OK;
    }
    Shape output = shape_of_rank(element->rank + 1);
    output.dims[0] = indices.dims[0];
    memcpy(&output.dims[1], element->dims, (size_t)element->rank * sizeof *element->dims);
    context->outputs[0] = output;
    return STATUS_OK;
}

/* Each element of the array has a length. */
static Status
infer_concat(Call *call, InferContext *context)
{
    (void)call;
    const Shape *rest = &node_attr(context->node, "element_shape_except0")->value.shape;
    context->outputs[1] = shape_of_rank(1);
    if (rest->rank < 0 || rest->rank == SHAPE_RANK_MAX) {
        return STATUS_OK;
    }
    Shape output = shape_of_rank(rest->rank + 1);
    memcpy(&output.dims[1], rest->dims, (size_t)rest->rank * sizeof *rest->dims);
    context->outputs[0] = output;
    return STATUS_OK;
}

static const OpDefinition tensor_array_ops[] = {
    OP("TensorArrayV3!(size:int32)->(handle:resource, flow:float) {dtype:type, element_shape:shape=unk, "
       "dynamic_size:bool=false, clear_after_read:bool=true, identical_element_shapes:bool=false, "
       "tensor_array_name:string=}",
        OP_STEP_LOCAL, infer_scalar),
    OP("TensorArrayGradV3!(handle:resource, flow_in:float)->(grad_handle:resource, flow_out:float) "
       "{source:string}",
        OP_STEP_LOCAL, infer_scalar),
    OP("TensorArrayGradWithShape!(handle:resource, flow_in:float, "
       "shape_to_prepend:int32)->(grad_handle:resource, flow_out:float) {source:string}",
        OP_STEP_LOCAL, infer_scalar),
    OP("TensorArrayWriteV3!(handle:resource, index:int32, value:T, flow_in:float)->(flow_out:float) {T:type}",
        OP_STEP_LOCAL, infer_first),
    OP("TensorArrayReadV3!(handle:resource, index:int32, flow_in:float)->(value:dtype) {dtype:type}",
        OP_STEP_LOCAL, infer_unknown),
    OP("TensorArraySizeV3!(handle:resource, flow_in:float)->(size:int32) {}", OP_STEP_LOCAL, infer_first),
    OP("TensorArrayCloseV3!(handle:resource)->() {}", OP_STEP_LOCAL, infer_unknown),
    OP("TensorArrayScatterV3!(handle:resource, indices:int32, value:T, flow_in:float)->(flow_out:float) "
       "{T:type}",
        OP_STEP_LOCAL, infer_first),
    OP("TensorArraySplitV3!(handle:resource, value:T, lengths:int64, flow_in:float)->(flow_out:float) "
       "{T:type}",
        OP_STEP_LOCAL, infer_first),
    OP("TensorArrayGatherV3!(handle:resource, indices:int32, flow_in:float)->(value:dtype) {dtype:type, "
       "element_shape:shape=unk}",
        OP_STEP_LOCAL, infer_gather),
    OP("TensorArrayConcatV3!(handle:resource, flow_in:float)->(value:dtype, lengths:int64) {dtype:type, "
       "element_shape_except0:shape=unk}",
        OP_STEP_LOCAL, infer_concat),
};

OP_FAMILY(tensor_array, tensor_array_ops);
