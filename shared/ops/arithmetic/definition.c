/* Element-wise functions of two tensors that broadcast against each other. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define ARITHMETIC(name, flags)                                                                              \
    OP(name "(x:T, y:T)->(z:T) {T:type}", (flags) | OP_ELEMENTWISE, infer_broadcast)

/* AddN wants equal shapes; TensorFlow does not broadcast here. */
static Status
infer_add_n(Call *call, InferContext *context)
{
    Shape result = context->inputs[0];
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        Shape merged;
        if (!shape_merge(&result, &context->inputs[index], &merged)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not %s", index,
                shape_text(&context->inputs[index], right), shape_text(&result, left));
        }
        result = merged;
    }
    context->outputs[0] = result;
    return STATUS_OK;
}

static const OpDefinition arithmetic_ops[] = {
    ARITHMETIC("Add", OP_COMMUTATIVE),
    ARITHMETIC("AddV2", OP_COMMUTATIVE),
    ARITHMETIC("Sub", 0),
    ARITHMETIC("Mul", OP_COMMUTATIVE),
    ARITHMETIC("MulNoNan", 0),
    ARITHMETIC("Div", 0),
    ARITHMETIC("RealDiv", 0),
    ARITHMETIC("TruncateDiv", 0),
    ARITHMETIC("TruncateMod", 0),
    ARITHMETIC("DivNoNan", 0),
    ARITHMETIC("FloorDiv", 0),
    ARITHMETIC("FloorMod", 0),
    ARITHMETIC("Mod", 0),
    ARITHMETIC("Maximum", 0),
    ARITHMETIC("Minimum", 0),
    ARITHMETIC("Pow", 0),
    ARITHMETIC("SquaredDifference", OP_COMMUTATIVE),
    ARITHMETIC("BitwiseAnd", OP_COMMUTATIVE),
    ARITHMETIC("BitwiseOr", OP_COMMUTATIVE),
    ARITHMETIC("BitwiseXor", OP_COMMUTATIVE),
    ARITHMETIC("Xdivy", 0),
    ARITHMETIC("Xlogy", 0),
    OP("Atan2(y:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("AddN(inputs:N*T)->(sum:T) {N:int>=1, T:type}", OP_COMMUTATIVE | OP_ELEMENTWISE, infer_add_n),
    OP("AccumulateNV2(inputs:N*T)->(sum:T) {N:int>=1, T:type, shape:shape}", OP_COMMUTATIVE | OP_ELEMENTWISE,
        infer_add_n),
};

OP_FAMILY(arithmetic, arithmetic_ops);
