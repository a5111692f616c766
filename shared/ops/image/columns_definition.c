/* Images put together of blocks that overlap (ONNX's Col2Im, PyTorch's Fold). */
#include "shared/ops/family.h"
#include "shared/ops/image/columns_rule.h"

static Status
infer_image(Call *call, InferContext *context)
{
    Columns columns;
    if (!infer_knows(context, COLUMNS_IMAGE_SHAPE) || !infer_knows(context, COLUMNS_BLOCK_SHAPE)) {
        return STATUS_OK;
    }
    TRY(columns_read(call, context, &columns));
    context->outputs[0] = columns.image;
    return STATUS_OK;
}

static const OpDefinition image_columns_ops[] = {
    OP("onnx::Col2Im(input:T, image_shape:int64, block_shape:int64)->(output:T) {dilations:list(int)=[], "
       "pads:list(int)=[], strides:list(int)=[], T:type}",
        0, infer_image),
};

OP_FAMILY(image_columns, image_columns_ops);
