/* Blocks of space moved into the batch and back. */
#include "shared/ops/family.h"
#include "shared/ops/space_to_batch/rule.h"

static Status
infer_blocks(Call *call, InferContext *context)
{
    Blocks blocks;
    TRY(blocks_read(call, context, &blocks));
    context->outputs[0] = blocks.output;
    return STATUS_OK;
}

static const OpDefinition space_to_batch_ops[] = {
    OP("SpaceToBatch(input:T, paddings:Tpaddings)->(output:T) {T:type, Tpaddings:type=DT_INT32, "
       "block_size:int}",
        0, infer_blocks),
    OP("BatchToSpace(input:T, crops:Tidx)->(output:T) {T:type, block_size:int, Tidx:type=DT_INT32}", 0,
        infer_blocks),
    OP("SpaceToBatchND(input:T, block_shape:Tblock_shape, paddings:Tpaddings)->(output:T) {T:type, "
       "Tblock_shape:type=DT_INT32, Tpaddings:type=DT_INT32}",
        0, infer_blocks),
    OP("BatchToSpaceND(input:T, block_shape:Tblock_shape, crops:Tcrops)->(output:T) {T:type, "
       "Tblock_shape:type=DT_INT32, Tcrops:type=DT_INT32}",
        0, infer_blocks),
};

OP_FAMILY(space_to_batch, space_to_batch_ops);
