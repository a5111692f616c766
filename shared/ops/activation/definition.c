/* Activation functions of neural networks and their gradients. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define ACTIVATION(name) OP(name "(features:T)->(activations:T) {T:type}", OP_ELEMENTWISE, infer_unchanged)
#define ACTIVATION_GRADIENT(name, other)                                                                     \
    OP(name "(gradients:T, " other ":T)->(backprops:T) {T:type}", OP_ELEMENTWISE, infer_broadcast)

#define ONNX_FUNCTION(name) OP(name "(X:T)->(Y:T) {T:type}", OP_ELEMENTWISE, infer_unchanged)
#define ONNX_FUNCTION_ALPHA(name, alpha)                                                                     \
    OP(name "(X:T)->(Y:T) {alpha:float=" alpha ", T:type}", OP_ELEMENTWISE, infer_unchanged)

static const OpDefinition activation_ops[] = {
    ACTIVATION("Relu"),
    ACTIVATION("Relu6"),
    ACTIVATION("Elu"),
    ACTIVATION("Selu"),
    ACTIVATION("Softplus"),
    ACTIVATION("Softsign"),
    ACTIVATION_GRADIENT("ReluGrad", "features"),
    ACTIVATION_GRADIENT("Relu6Grad", "features"),
    ACTIVATION_GRADIENT("EluGrad", "outputs"),
    ACTIVATION_GRADIENT("SeluGrad", "outputs"),
    ACTIVATION_GRADIENT("SoftplusGrad", "features"),
    ACTIVATION_GRADIENT("SoftsignGrad", "features"),
    OP("LeakyRelu(features:T)->(activations:T) {alpha:float=0.2, T:type=DT_FLOAT}", OP_ELEMENTWISE,
        infer_unchanged),
    OP("LeakyReluGrad(gradients:T, features:T)->(backprops:T) {alpha:float=0.2, T:type=DT_FLOAT}",
        OP_ELEMENTWISE, infer_broadcast),
    ONNX_FUNCTION("onnx::Relu"),
    ONNX_FUNCTION("onnx::Softplus"),
    ONNX_FUNCTION("onnx::Softsign"),
    ONNX_FUNCTION("onnx::HardSwish"),
    ONNX_FUNCTION("onnx::Mish"),
    ONNX_FUNCTION_ALPHA("onnx::Elu", "1"),
    ONNX_FUNCTION_ALPHA("onnx::Celu", "1"),
    ONNX_FUNCTION_ALPHA("onnx::LeakyRelu", "0.01"),
    ONNX_FUNCTION_ALPHA("onnx::ThresholdedRelu", "1"),
    OP("onnx::Selu(X:T)->(Y:T) {alpha:float=1.67326319217681884765625, "
       "gamma:float=1.05070102214813232421875, T:type}",
        OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::HardSigmoid(X:T)->(Y:T) {alpha:float=0.2, beta:float=0.5, T:type}", OP_ELEMENTWISE,
        infer_unchanged),
    OP("onnx::Shrink(input:T)->(output:T) {bias:float=0, lambd:float=0.5, T:type}", OP_ELEMENTWISE,
        infer_unchanged),
    OP("onnx::Swish(X:T)->(Y:T) {alpha:float=1, T:type}", OP_ELEMENTWISE, infer_unchanged),
    OP("onnx::Gelu(X:T)->(Y:T) {approximate:string=none, T:type}", OP_ELEMENTWISE, infer_unchanged),
};

OP_FAMILY(activation, activation_ops);
