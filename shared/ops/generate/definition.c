/* Tensors made from a few numbers. */
#include "shared/ops/family.h"
#include "shared/ops/generate/rule.h"
#include "shared/ops/infer.h"

static Status
infer_fill(Call *call, InferContext *context)
{
    return infer_shape_input(call, context, 0);
}

static bool
knows_range(const InferContext *context)
{
    return context->values[0] != NULL && context->values[1] != NULL && context->values[2] != NULL;
}

static Status
infer_range(Call *call, InferContext *context)
{
    int64_t count = -1;
    if (knows_range(context)) {
        TRY(generation_range_count(call, context->values, &count));
        if (count < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "delta leads from start away from limit");
        }
    }
    context->outputs[0] = shape_vector(count);
    return infer_check_size(call, &context->outputs[0]);
}

/* A delta that leads away from the limit gives an empty range. */
static Status
infer_onnx_range(Call *call, InferContext *context)
{
    int64_t count = -1;
    if (knows_range(context)) {
        TRY(generation_range_count(call, context->values, &count));
        count = count < 0 ? 0 : count;
    }
    context->outputs[0] = shape_vector(count);
    return infer_check_size(call, &context->outputs[0]);
}

static Status
infer_lin_space(Call *call, InferContext *context)
{
    int64_t count = -1;
    bool is_known = false;
    TRY(infer_int(call, context, 2, &count, &is_known));
    if (is_known && count < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "num is %lld, not at least 1", (long long)count);
    }
    context->outputs[0] = shape_vector(is_known ? count : -1);
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition generate_ops[] = {
    OP("Fill(dims:index_type, value:T)->(output:T) {T:type, index_type:type=DT_INT32}", 0, infer_fill),
    OP("Range(start:Tidx, limit:Tidx, delta:Tidx)->(output:Tidx) {Tidx:type=DT_INT32}", 0, infer_range),
    OP("LinSpace(start:T, stop:T, num:Tidx)->(output:T) {T:type, Tidx:type=DT_INT32}", 0, infer_lin_space),
    OP("onnx::ConstantOfShape(input:int64)->(output:dtype) {value:tensor, dtype:type}", 0, infer_fill),
    OP("onnx::Range(start:T, limit:T, delta:T)->(output:T) {T:type}", 0, infer_onnx_range),
};

OP_FAMILY(generate, generate_ops);
