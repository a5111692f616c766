/* Shapes computed in the graph, for gradients of broadcasts and joins. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_broadcast_args(Call *call, InferContext *context)
{
    Shape left;
    Shape right;
    TRY(infer_rank(call, context, 0, 1, &left));
    TRY(infer_rank(call, context, 1, 1, &right));
    bool is_known = left.dims[0] >= 0 && right.dims[0] >= 0;
    context->outputs[0] = shape_vector(!is_known                      ? -1
                                       : left.dims[0] > right.dims[0] ? left.dims[0]
                                                                      : right.dims[0]);
    return STATUS_OK;
}

/* The number of dimensions to be summed over is known only when it runs. */
static Status
infer_gradient_args(Call *call, InferContext *context)
{
    Shape vector;
    for (uint32_t index = 0; index < 2; index++) {
        TRY(infer_rank(call, context, index, 1, &vector));
        context->outputs[index] = shape_vector(-1);
    }
    return STATUS_OK;
}

/* The outputs are the offsets of the inputs along the dimension they are joined in. */
static Status
infer_concat_offset(Call *call, InferContext *context)
{
    Shape shape = shape_unknown();
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        if (!shape_merge(&shape, &context->inputs[index], &shape) || (shape.rank >= 0 && shape.rank != 1)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u is no shape like the others", index);
        }
    }
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = shape.rank < 0 ? shape_vector(-1) : shape;
    }
    return STATUS_OK;
}

static const OpDefinition arguments_ops[] = {
    OP("BroadcastArgs(s0:T, s1:T)->(r0:T) {T:type=DT_INT32}", 0, infer_broadcast_args),
    OP("BroadcastGradientArgs(s0:T, s1:T)->(r0:T, r1:T) {T:type=DT_INT32}", 0, infer_gradient_args),
    OP("ConcatOffset(concat_dim:int32, shape:N*int32)->(offset:N*int32) {N:int>=1, "
       "~shape_type:type=DT_INT32}",
        0, infer_concat_offset),
};

OP_FAMILY(shape_arguments, arguments_ops);
