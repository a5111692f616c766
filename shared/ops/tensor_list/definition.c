/* TensorLists, which are values: an op that changes one returns a new one. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Output 0 is the list; the shapes of the others are not known. */
static Status
infer_first(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = shape_scalar();
    return STATUS_OK;
}

static const OpDefinition tensor_list_ops[] = {
    OP("EmptyTensorList(element_shape:shape_type, max_num_elements:int32)->(handle:variant) "
       "{element_dtype:type, shape_type:type}",
        0, infer_scalar),
    OP("TensorListReserve(element_shape:shape_type, num_elements:int32)->(handle:variant) "
       "{element_dtype:type, shape_type:type}",
        0, infer_scalar),
    OP("TensorListLength(input_handle:variant)->(length:int32) {}", 0, infer_scalar),
    OP("TensorListElementShape(input_handle:variant)->(element_shape:shape_type) {shape_type:type}", 0,
        infer_unknown),
    OP("TensorListPushBack(input_handle:variant, tensor:element_dtype)->(output_handle:variant) "
       "{element_dtype:type}",
        0, infer_scalar),
    OP("TensorListPopBack(input_handle:variant, element_shape:int32)->(output_handle:variant, "
       "tensor:element_dtype) {element_dtype:type}",
        0, infer_first),
    OP("TensorListSetItem(input_handle:variant, index:int32, item:element_dtype)->(output_handle:variant) "
       "{element_dtype:type, resize_if_index_out_of_bounds:bool=false}",
        0, infer_scalar),
    OP("TensorListGetItem(input_handle:variant, index:int32, element_shape:int32)->(item:element_dtype) "
       "{element_dtype:type, ~Tshape:type=DT_INT32}",
        0, infer_unknown),
    OP("TensorListResize!(input_handle:variant, size:int32)->(output_handle:variant) {}", OP_STEP_LOCAL,
        infer_scalar),
    OP("TensorListConcatLists(input_a:variant, input_b:variant)->(output:variant) {element_dtype:type}", 0,
        infer_scalar),
    OP("TensorListFromTensor(tensor:element_dtype, element_shape:shape_type)->(output_handle:variant) "
       "{element_dtype:type, shape_type:type}",
        0, infer_scalar),
    OP("TensorListScatter(tensor:element_dtype, indices:int32, "
       "element_shape:shape_type)->(output_handle:variant) {element_dtype:type, shape_type:type}",
        0, infer_scalar),
    OP("TensorListScatterV2(tensor:element_dtype, indices:int32, element_shape:shape_type, "
       "num_elements:int32)->(output_handle:variant) {element_dtype:type, shape_type:type}",
        0, infer_scalar),
    OP("TensorListScatterIntoExistingList(input_handle:variant, tensor:element_dtype, "
       "indices:int32)->(output_handle:variant) {element_dtype:type}",
        0, infer_scalar),
    OP("TensorListSplit(tensor:element_dtype, element_shape:shape_type, "
       "lengths:int64)->(output_handle:variant) {element_dtype:type, shape_type:type}",
        0, infer_scalar),
    OP("TensorListStack(input_handle:variant, element_shape:int32)->(tensor:element_dtype) "
       "{element_dtype:type, num_elements:int=-1}",
        0, infer_unknown),
    OP("TensorListGather(input_handle:variant, indices:int32, element_shape:int32)->(values:element_dtype) "
       "{element_dtype:type}",
        0, infer_unknown),
    OP("TensorListConcat(input_handle:variant)->(tensor:element_dtype, lengths:int64) {element_dtype:type, "
       "element_shape:shape=unk}",
        0, infer_unknown),
    OP("TensorListConcatV2(input_handle:variant, element_shape:shape_type, "
       "leading_dims:int64)->(tensor:element_dtype, lengths:int64) {element_dtype:type, shape_type:type}",
        0, infer_unknown),
};

OP_FAMILY(tensor_list, tensor_list_ops);
