/* Parts of tensors by position. */
#include "shared/ops/family.h"
#include "shared/ops/slicing.h"

typedef Status (*ReadSlicing)(Call *call, const InferContext *context, Slicing *ret_slicing);

static Status
infer_with(Call *call, InferContext *context, ReadSlicing read)
{
    Slicing slicing;
    TRY(read(call, context, &slicing));
    context->outputs[0] = slicing.output;
    return STATUS_OK;
}

static Status
infer_slice(Call *call, InferContext *context)
{
    return infer_with(call, context, slicing_plain);
}

static Status
infer_strided_slice(Call *call, InferContext *context)
{
    return infer_with(call, context, slicing_strided);
}

static Status
infer_onnx_slice(Call *call, InferContext *context)
{
    return infer_with(call, context, slicing_onnx);
}

static const OpDefinition slice_ops[] = {
    OP("Slice(input:T, begin:Index, size:Index)->(output:T) {T:type, Index:type}", 0, infer_slice),
    OP("StridedSlice(input:T, begin:Index, end:Index, strides:Index)->(output:T) {T:type, Index:type, "
       "begin_mask:int=0, end_mask:int=0, ellipsis_mask:int=0, new_axis_mask:int=0, shrink_axis_mask:int=0}",
        0, infer_strided_slice),
    OP("onnx::Slice(data:T, starts:Tind, ends:Tind, axes?:Tind, steps?:Tind)->(output:T) {T:type, Tind:type}",
        0, infer_onnx_slice),
};

OP_FAMILY(slice, slice_ops);
