/* ONNX's element-wise operators, in their newest forms (opset 22 and later); the importer rewrites older ones
 * to these. Broadcasting is NumPy's. Flags are ints, as ONNX has no booleans among attributes. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define FUNCTION(name) OP("onnx::" name "(X:T)->(Y:T) {T:type}", OP_ELEMENTWISE, infer_unchanged)
#define FUNCTION_ALPHA(name, alpha)                                                                          \
    OP("onnx::" name "(X:T)->(Y:T) {alpha:float=" alpha ", T:type}", OP_ELEMENTWISE, infer_unchanged)
#define PAIR(name, flags)                                                                                    \
    OP("onnx::" name "(A:T, B:T)->(C:T) {T:type}", (flags) | OP_ELEMENTWISE, infer_broadcast)
#define COMPARISON(name, flags)                                                                              \
    OP("onnx::" name "(A:T, B:T)->(C:bool) {T:type}", (flags) | OP_ELEMENTWISE, infer_broadcast)
#define LOGIC(name)                                                                                          \
    OP("onnx::" name "(A:bool, B:bool)->(C:bool) {}", OP_COMMUTATIVE | OP_ELEMENTWISE, infer_broadcast)
#define FOLD(name, flags)                                                                                    \
    OP("onnx::" name "(data:N*T)->(result:T) {N:int>=1, T:type}", flags, infer_broadcast)

/* PRelu's slope broadcasts to X, never the other way. */
static Status
infer_first(Call *call, InferContext *context)
{
    TRY(infer_broadcast(call, context));
    Shape merged;
    if (!shape_merge(&context->outputs[0], &context->inputs[0], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s does not broadcast to %s",
            shape_text(&context->inputs[1], left), shape_text(&context->inputs[0], right));
    }
    context->outputs[0] = merged;
    return STATUS_OK;
}

/* Both outputs are as the data. */
static Status
infer_dropout(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[0];
    context->outputs[1] = context->inputs[0];
    return STATUS_OK;
}

static const OpDefinition onnx_elementwise_ops[] = {
    OP("onnx::Identity(X:T)->(Y:T) {T:type}", 0, infer_unchanged),
    FUNCTION("Abs"),
    FUNCTION("Neg"),
    FUNCTION("Sign"),
    FUNCTION("Sqrt"),
    FUNCTION("Reciprocal"),
    FUNCTION("Exp"),
    FUNCTION("Log"),
    FUNCTION("Floor"),
    FUNCTION("Ceil"),
    FUNCTION("Round"),
    FUNCTION("Erf"),
    FUNCTION("Sin"),
    FUNCTION("Cos"),
    FUNCTION("Tan"),
    FUNCTION("Asin"),
    FUNCTION("Acos"),
    FUNCTION("Atan"),
    FUNCTION("Sinh"),
    FUNCTION("Cosh"),
    FUNCTION("Tanh"),
    FUNCTION("Asinh"),
    FUNCTION("Acosh"),
    FUNCTION("Atanh"),
    FUNCTION("Sigmoid"),
    FUNCTION("BitwiseNot"),
    FUNCTION("Relu"),
    FUNCTION("Softplus"),
    FUNCTION("Softsign"),
    FUNCTION("HardSwish"),
    FUNCTION("Mish"),
    FUNCTION_ALPHA("Elu", "1"),
    FUNCTION_ALPHA("Celu", "1"),
    FUNCTION_ALPHA("LeakyRelu", "0.01"),
    FUNCTION_ALPHA("ThresholdedRelu", "1"),
    OP("onnx::Selu(X:T)->(Y:T) {alpha:float=1.67326319217681884765625, "
       "gamma:float=1.05070102214813232421875, "
       "T:type}",
        OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::HardSigmoid(X:T)->(Y:T) {alpha:float=0.2, beta:float=0.5, T:type}", OP_ELEMENTWISE,
        infer_unchanged),
    OP("onnx::Gelu(X:T)->(Y:T) {approximate:string=none, T:type}", OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::IsNaN(X:T)->(Y:bool) {T:type}", OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::IsInf(X:T)->(Y:bool) {detect_negative:int=1, detect_positive:int=1, T:type}", OP_ELEMENTWISE,
        infer_unchanged),
    OP("onnx::Dropout(data:T, ratio?:T1, training_mode?:bool)->(output:T, mask?:bool) {seed:int=0, T:type, "
       "T1:type}",
        0, infer_dropout),
    OP("onnx::PRelu(X:T, slope:T)->(Y:T) {T:type}", OP_ELEMENTWISE, infer_first),
    OP("onnx::Clip(input:T, min?:T, max?:T)->(output:T) {T:type}", 0, infer_unchanged),
    OP("onnx::Cast(input:T)->(output:to) {to:type, saturate:int=1, round_mode:string=up, T:type}",
        OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::CastLike(input:T, target_type:U)->(output:U) {saturate:int=1, round_mode:string=up, T:type, "
       "U:type}",
        0, infer_unchanged),
    PAIR("Add", OP_COMMUTATIVE),
    PAIR("Sub", 0),
    PAIR("Mul", OP_COMMUTATIVE),
    PAIR("Div", 0),
    PAIR("BitwiseAnd", OP_COMMUTATIVE),
    PAIR("BitwiseOr", OP_COMMUTATIVE),
    PAIR("BitwiseXor", OP_COMMUTATIVE),
    OP("onnx::Mod(A:T, B:T)->(C:T) {fmod:int=0, T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("onnx::BitShift(X:T, Y:T)->(Z:T) {direction:string, T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("onnx::Pow(X:T, Y:T1)->(Z:T) {T:type, T1:type}", OP_ELEMENTWISE, infer_broadcast),
    COMPARISON("Equal", OP_COMMUTATIVE),
    COMPARISON("Less", 0),
    COMPARISON("LessOrEqual", 0),
    COMPARISON("Greater", 0),
    COMPARISON("GreaterOrEqual", 0),
    LOGIC("And"),
    LOGIC("Or"),
    LOGIC("Xor"),
    OP("onnx::Not(X:bool)->(Y:bool) {}", OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::Where(condition:bool, X:T, Y:T)->(output:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    FOLD("Sum", OP_ELEMENTWISE),
    FOLD("Max", OP_ELEMENTWISE),
    FOLD("Min", OP_ELEMENTWISE),
    FOLD("Mean", 0),
};

OP_FAMILY(onnx_elementwise, onnx_elementwise_ops);
