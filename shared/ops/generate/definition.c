/* Tensors made of a few numbers. */
#include "shared/ops/family.h"
#include "shared/ops/generate/rule.h"
#include "shared/ops/infer.h"

static Status
shape_from_values(Call *call, InferContext *context, uint32_t input)
{
    Shape shape = shape_scalar();
    size_t count = 0;
    bool is_known = false;
    TRY(infer_ints(call, context, input, shape.dims, SHAPE_RANK_MAX, &count));
    is_known = infer_knows(context, input);
    if (!is_known) {
        const Shape *dims = &context->inputs[input];
        const bool is_ranked = dims->rank == 1 && dims->dims[0] >= 0 && dims->dims[0] <= SHAPE_RANK_MAX;
        context->outputs[0] = is_ranked ? shape_of_rank((int)dims->dims[0]) : shape_unknown();
        return STATUS_OK;
    }
    shape.rank = (int)count;
    for (int index = 0; index < shape.rank; index++) {
        if (shape.dims[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is %lld, not at least 0", index,
                (long long)shape.dims[index]);
        }
    }
    context->outputs[0] = shape;
    return infer_check_size(call, &shape);
}

static Status
infer_fill(Call *call, InferContext *context)
{
    return shape_from_values(call, context, 0);
}

static Status
infer_broadcast_to(Call *call, InferContext *context)
{
    TRY(shape_from_values(call, context, 1));
    Shape merged;
    const Shape *target = &context->outputs[0];
    const Shape *input = &context->inputs[0];
    if (shape_is_known(target) && shape_is_known(input) &&
        (!shape_broadcast(input, target, &merged) || !shape_equal(&merged, target))) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s does not broadcast to %s",
            shape_text(input, left), shape_text(target, right));
    }
    return STATUS_OK;
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

/* What leads away is empty. */
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
    OP("BroadcastTo(input:T, shape:Tidx)->(output:T) {T:type, Tidx:type=DT_INT32}", 0, infer_broadcast_to),
    OP("Range(start:Tidx, limit:Tidx, delta:Tidx)->(output:Tidx) {Tidx:type=DT_INT32}", 0, infer_range),
    OP("LinSpace(start:T, stop:T, num:Tidx)->(output:T) {T:type, Tidx:type=DT_INT32}", 0, infer_lin_space),
    OP("onnx::ConstantOfShape(input:int64)->(output:dtype) {value:tensor, dtype:type}", 0, infer_fill),
    OP("onnx::Range(start:T, limit:T, delta:T)->(output:T) {T:type}", 0, infer_onnx_range),
};

OP_FAMILY(generate, generate_ops);
