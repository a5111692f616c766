/* Elements of another dtype: converted, or the same bits read anew. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Larger elements take up a last dimension, smaller ones make one. */
static Status
infer_bitcast(Call *call, InferContext *context)
{
    Shape shape = context->inputs[0];
    int64_t from = (int64_t)dtype_size(context->node->input_dtypes[0]);
    int64_t to = (int64_t)dtype_size(context->node->output_dtypes[0]);
    if (shape.rank < 0 || from == to || from == 0 || to == 0) {
        return infer_unchanged(call, context);
    }
    if (from > to) {
        if (shape.rank == SHAPE_RANK_MAX) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
        }
        shape.dims[shape.rank++] = from / to;
    } else {
        int64_t size = 0;
        TRY(infer_equal(
            call, shape.rank == 0 ? 1 : shape.dims[shape.rank - 1], to / from, "the last dimension", &size));
        shape.rank--;
    }
    context->outputs[0] = shape;
    return infer_check_size(call, &shape);
}

/* ONNX's form keeps the shape. */
static Status
infer_onnx_bitcast(Call *call, InferContext *context)
{
    Dtype from = context->node->input_dtypes[0];
    Dtype to = context->node->output_dtypes[0];
    if (dtype_size(from) != dtype_size(to)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an element of %s has %zu bytes, one of %s %zu",
            dtype_name(from), dtype_size(from), dtype_name(to), dtype_size(to));
    }
    return infer_unchanged(call, context);
}

static const OpDefinition cast_ops[] = {
    OP("Cast(x:SrcT)->(y:DstT) {SrcT:type, DstT:type, Truncate:bool=false}", OP_ELEMENTWISE, infer_unchanged),
    OP("Bitcast(input:T)->(output:type) {T:type, type:type}", 0, infer_bitcast),
    OP("onnx::Cast(input:T)->(output:to) {to:type, saturate:int=1, round_mode:string=up, T:type}",
        OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::BitCast(input:T)->(output:to) {to:type, T:type}", 0, infer_onnx_bitcast),
    OP("onnx::CastLike(input:T, target_type:U)->(output:U) {saturate:int=1, round_mode:string=up, T:type, "
       "U:type}",
        0, infer_unchanged),
};

OP_FAMILY(cast, cast_ops);
