/* Elements moved along a dimension, and cross products. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_reverse_sequence(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    Shape lengths;
    int batch = 0;
    int sequence = 0;
    TRY(infer_rank(call, context, 1, 1, &lengths));
    if (input->rank >= 0) {
        int64_t size = 0;
        TRY(infer_axis(call, node_attr_int(context->node, "batch_dim"), input->rank, &batch));
        TRY(infer_axis(call, node_attr_int(context->node, "seq_dim"), input->rank, &sequence));
        if (batch == sequence) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "batch and sequence are both dimension %d", batch);
        }
        TRY(infer_equal(call, input->dims[batch], lengths.dims[0], "the number of sequences", &size));
    }
    return infer_unchanged(call, context);
}

/* The shifts are as many as the axes; an axis may occur again. */
static Status
infer_roll(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    if (input->rank == 0 || context->inputs[1].rank > 1 || context->inputs[2].rank > 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "rank %d does not roll by shifts of rank %d along axes "
            "of rank %d",
            input->rank, context->inputs[1].rank, context->inputs[2].rank);
    }
    Shape merged;
    if (!shape_merge(&context->inputs[1], &context->inputs[2], &merged)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "there are not as many shifts as axes");
    }
    return infer_unchanged(call, context);
}

static Status
infer_cross(Call *call, InferContext *context)
{
    Shape merged;
    char left[SHAPE_TEXT_SIZE];
    char right[SHAPE_TEXT_SIZE];
    bool are_alike = shape_merge(&context->inputs[0], &context->inputs[1], &merged);
    int64_t last = are_alike && merged.rank > 0 ? merged.dims[merged.rank - 1] : -1;
    if (!are_alike || merged.rank == 0 || (last >= 0 && last != 3)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shapes %s and %s are no vectors of 3 alike",
            shape_text(&context->inputs[0], left), shape_text(&context->inputs[1], right));
    }
    context->outputs[0] = merged;
    return STATUS_OK;
}

static const OpDefinition sequence_ops[] = {
    OP("ReverseSequence(input:T, seq_lengths:Tlen)->(output:T) {seq_dim:int, batch_dim:int=0, T:type, "
       "Tlen:type=DT_INT64}",
        0, infer_reverse_sequence),
    OP("Roll(input:T, shift:Tshift, axis:Taxis)->(output:T) {T:type, Tshift:type, Taxis:type}", 0,
        infer_roll),
    OP("Cross(a:T, b:T)->(product:T) {T:type}", 0, infer_cross),
};

OP_FAMILY(sequence, sequence_ops);
