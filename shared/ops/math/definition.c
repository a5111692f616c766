/* Element-wise functions of one tensor. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define FUNCTION(name) OP(name "(x:T)->(y:T) {T:type}", OP_ELEMENTWISE, infer_unchanged)
#define PREDICATE(name) OP(name "(x:T)->(y:bool) {T:type}", OP_ELEMENTWISE, infer_unchanged)
#define FUNCTION_GRADIENT(name) OP(name "(y:T, dy:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast)

static const OpDefinition math_ops[] = {
    FUNCTION("Abs"),
    FUNCTION("Neg"),
    FUNCTION("Sign"),
    FUNCTION("Square"),
    FUNCTION("Sqrt"),
    FUNCTION("Rsqrt"),
    FUNCTION("Reciprocal"),
    FUNCTION("Inv"),
    FUNCTION("Exp"),
    FUNCTION("Expm1"),
    FUNCTION("Log"),
    FUNCTION("Log1p"),
    FUNCTION("Floor"),
    FUNCTION("Ceil"),
    FUNCTION("Round"),
    FUNCTION("Rint"),
    FUNCTION("Erf"),
    FUNCTION("Erfc"),
    FUNCTION("Lgamma"),
    FUNCTION("Invert"),
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
    PREDICATE("IsNan"),
    PREDICATE("IsInf"),
    PREDICATE("IsFinite"),
    FUNCTION_GRADIENT("SigmoidGrad"),
    FUNCTION_GRADIENT("TanhGrad"),
    FUNCTION_GRADIENT("RsqrtGrad"),
    FUNCTION_GRADIENT("SqrtGrad"),
    FUNCTION_GRADIENT("InvGrad"),
    FUNCTION_GRADIENT("ReciprocalGrad"),
    OP("Cast(x:SrcT)->(y:DstT) {SrcT:type, DstT:type, Truncate:bool=false}", OP_ELEMENTWISE, infer_unchanged),
};

OP_FAMILY(math, math_ops);
