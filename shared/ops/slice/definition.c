/* Parts of tensors by position. */
#include "shared/ops/family.h"
#include "shared/ops/slice/rule.h"

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

/* Input 0 holds the shape that was sliced; the next inputs slice it as StridedSlice's do, and the last one
 * is the gradient of the slice. */
static Status
infer_strided_slice_grad(Call *call, InferContext *context)
{
    Shape shape = shape_scalar();
    size_t count = 0;
    TRY(infer_ints(call, context, 0, shape.dims, SHAPE_RANK_MAX, &count));
    if (!infer_knows(context, 0)) {
        return STATUS_OK;
    }
    shape.rank = (int)count;
    TRY(infer_check_size(call, &shape));
    InferContext forward = {.node = context->node, .inputs = &shape, .values = context->values};
    Slicing slicing;
    Shape merged;
    TRY(slicing_strided(call, &forward, &slicing));
    if (slicing.is_known && !shape_merge(&slicing.output, &context->inputs[4], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the output's gradient has shape %s, not %s",
            shape_text(&context->inputs[4], left), shape_text(&slicing.output, right));
    }
    context->outputs[0] = shape;
    return STATUS_OK;
}

static const OpDefinition slice_ops[] = {
    OP("Slice(input:T, begin:Index, size:Index)->(output:T) {T:type, Index:type}", 0, infer_slice),
    OP("StridedSlice(input:T, begin:Index, end:Index, strides:Index)->(output:T) {T:type, Index:type, "
       "begin_mask:int=0, end_mask:int=0, ellipsis_mask:int=0, new_axis_mask:int=0, shrink_axis_mask:int=0}",
        0, infer_strided_slice),
    OP("StridedSliceGrad(shape:Index, begin:Index, end:Index, strides:Index, dy:T)->(output:T) {T:type, "
       "Index:type, begin_mask:int=0, end_mask:int=0, ellipsis_mask:int=0, new_axis_mask:int=0, "
       "shrink_axis_mask:int=0}",
        0, infer_strided_slice_grad),
    OP("onnx::Slice(data:T, starts:Tind, ends:Tind, axes?:Tind, steps?:Tind)->(output:T) {T:type, Tind:type}",
        0, infer_onnx_slice),
};

OP_FAMILY(slice, slice_ops);
