/* Comparisons, logic and choice, element by element. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define COMPARISON(name, flags)                                                                              \
    OP(name "(x:T, y:T)->(z:bool) {T:type}", (flags) | OP_ELEMENTWISE, infer_broadcast)

#define EQUALITY(name)                                                                                       \
    OP(name "(x:T, y:T)->(z:bool) {T:type, incompatible_shape_error:bool=true}",                             \
        OP_COMMUTATIVE | OP_ELEMENTWISE, infer_equality)

/* Shapes that do not broadcast have one answer, where they are no error: not equal. */
static Status
infer_equality(Call *call, InferContext *context)
{
    const Shape *left = &context->inputs[0];
    const Shape *right = &context->inputs[1];
    if (node_attr_bool(context->node, "incompatible_shape_error") || shape_equal(left, right)) {
        return infer_broadcast(call, context);
    }
    Shape merged;
    if (!shape_broadcast(left, right, &merged)) {
        context->outputs[0] = shape_scalar();
    } else {
        context->outputs[0] = shape_is_known(left) && shape_is_known(right) ? merged : shape_unknown();
    }
    return STATUS_OK;
}

/* Select does not broadcast: the condition has the branches' shape, or is a scalar, or a vector that picks
 * rows. */
static Status
infer_select(Call *call, InferContext *context)
{
    const Shape *condition = &context->inputs[0];
    Shape branch;
    char left[SHAPE_TEXT_SIZE];
    char right[SHAPE_TEXT_SIZE];
    if (!shape_merge(&context->inputs[1], &context->inputs[2], &branch)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the branches have shapes %s and %s",
            shape_text(&context->inputs[1], left), shape_text(&context->inputs[2], right));
    }
    context->outputs[0] = branch;
    if (condition->rank <= 0 || branch.rank < 0) {
        return STATUS_OK;
    }
    bool picks_rows = condition->rank == 1 && branch.rank > 1;
    Shape rows = shape_vector(picks_rows ? branch.dims[0] : -1);
    Shape merged;
    if (!shape_merge(condition, picks_rows ? &rows : &branch, &merged)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a condition of shape %s does not choose within %s",
            shape_text(condition, left), shape_text(&branch, right));
    }
    context->outputs[0] = picks_rows ? branch : merged;
    return STATUS_OK;
}

static Status
infer_truth(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = shape_scalar();
    return STATUS_OK;
}

#define ONNX_COMPARISON(name, flags)                                                                         \
    OP(name "(A:T, B:T)->(C:bool) {T:type}", (flags) | OP_ELEMENTWISE, infer_broadcast)
#define ONNX_LOGIC(name)                                                                                     \
    OP(name "(A:bool, B:bool)->(C:bool) {}", OP_COMMUTATIVE | OP_ELEMENTWISE, infer_broadcast)

static const OpDefinition logic_ops[] = {
    EQUALITY("Equal"),
    EQUALITY("NotEqual"),
    COMPARISON("Less", 0),
    COMPARISON("LessEqual", 0),
    COMPARISON("Greater", 0),
    COMPARISON("GreaterEqual", 0),
    OP("ApproximateEqual(x:T, y:T)->(z:bool) {T:type, tolerance:float=1e-05}",
        OP_COMMUTATIVE | OP_ELEMENTWISE, infer_broadcast),
    OP("LogicalAnd(x:bool, y:bool)->(z:bool) {}", OP_COMMUTATIVE | OP_ELEMENTWISE, infer_broadcast),
    OP("LogicalOr(x:bool, y:bool)->(z:bool) {}", OP_COMMUTATIVE | OP_ELEMENTWISE, infer_broadcast),
    OP("LogicalNot(x:bool)->(y:bool) {}", OP_ELEMENTWISE, infer_unchanged),
    OP("Select(condition:bool, t:T, e:T)->(output:T) {T:type}", OP_ELEMENTWISE, infer_select),
    OP("SelectV2(condition:bool, t:T, e:T)->(output:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("ClipByValue(t:T, clip_value_min:T, clip_value_max:T)->(output:T) {T:type}", OP_ELEMENTWISE,
        infer_broadcast),
    OP("ToBool(input:T)->(output:bool) {T:type}", 0, infer_truth),
    OP("onnx::IsInf(X:T)->(Y:bool) {detect_negative:int=1, detect_positive:int=1, T:type}", OP_ELEMENTWISE,
        infer_unchanged),
    OP("onnx::Clip(input:T, min?:T, max?:T)->(output:T) {T:type}", 0, infer_unchanged),
    ONNX_COMPARISON("onnx::Equal", OP_COMMUTATIVE),
    ONNX_COMPARISON("onnx::Less", 0),
    ONNX_COMPARISON("onnx::LessOrEqual", 0),
    ONNX_COMPARISON("onnx::Greater", 0),
    ONNX_COMPARISON("onnx::GreaterOrEqual", 0),
    ONNX_LOGIC("onnx::And"),
    ONNX_LOGIC("onnx::Or"),
    ONNX_LOGIC("onnx::Xor"),
    OP("onnx::Not(X:bool)->(Y:bool) {}", OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::Where(condition:bool, X:T, Y:T)->(output:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
};

OP_FAMILY(logic, logic_ops);
