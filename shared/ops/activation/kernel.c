/* Activation functions. Parameters that ONNX lets the author choose are constants in TensorFlow's ops. */
#include <tgmath.h>

#include "worker/reference/elementwise.h"

/* A number in the type that the loop computes in. */
#define NUMBER(value) ((__typeof__(a))(value))
#define PARAMETER(index) NUMBER(run->parameters[index])

/* Selu's fixed point: mean 0, variance 1 (Klambauer et al., 2017). */
#define SELU_ALPHA NUMBER(1.6732632423543772848170429916717)
#define SELU_SCALE NUMBER(1.0507009873554804934193349852946)

/* log(1 + e^a) without overflow. */
#define SOFTPLUS(a) ((a) > 0 ? (a) + log1p(exp(-(a))) : log1p(exp(a)))

/* NaN passes through. */
#define CLAMP(a, low, high) ((a) < (low) ? (low) : (a) > (high) ? (high) : (a))

#define FLOATS_WITH(name, expression, first, second)                                                         \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, first, second)

#define FLOATS(name, expression) FLOATS_WITH(name, expression, NULL, NULL)

#define FLOAT_PAIRS_WITH(name, expression, first, second)                                                    \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, first, second)

#define FLOAT_PAIRS(name, expression) FLOAT_PAIRS_WITH(name, expression, NULL, NULL)

#define REALS(name, expression, unsigned_integer)                                                            \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    SIGNED_ELEMENTS(UNARY_LOOP, name, expression)                                                            \
    UNSIGNED_ELEMENTS(UNARY_LOOP, name, unsigned_integer)                                                    \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name)};                                 \
    ELEMENTWISE(name, 0, NULL, NULL)

REALS(relu, a < 0 ? 0 : a, a)
REALS(relu6, CLAMP(a, 0, 6), a > 6 ? 6 : a)
FLOATS(elu, a < 0 ? expm1(a) : a)
FLOATS(selu, a < 0 ? SELU_SCALE * SELU_ALPHA * expm1(a) : SELU_SCALE * a)
FLOATS_WITH(leaky_relu, a < 0 ? PARAMETER(0) * a : a, "alpha", NULL)
FLOATS(softplus, SOFTPLUS(a))
FLOATS(softsign, a / (1 + fabs(a)))
FLOATS_WITH(scaled_elu, a < 0 ? PARAMETER(0) * expm1(a) : a, "alpha", NULL)
FLOATS_WITH(scaled_selu, a < 0 ? PARAMETER(1) * PARAMETER(0) * expm1(a) : PARAMETER(1) * a, "alpha", "gamma")
FLOATS_WITH(hard_sigmoid, CLAMP(PARAMETER(0) * a + PARAMETER(1), 0, 1), "alpha", "beta")
FLOATS(hard_swish, (a * CLAMP((a + 3) / 6, 0, 1)))
FLOATS_WITH(thresholded_relu, a > PARAMETER(0) ? a : 0, "alpha", NULL)
FLOATS_WITH(
    shrink, a<-PARAMETER(0) ? a + PARAMETER(1) : a> PARAMETER(0) ? a - PARAMETER(1) : 0, "lambd", "bias")
FLOATS_WITH(celu, a < 0 ? PARAMETER(0) * expm1(a / PARAMETER(0)) : a, "alpha", NULL)
FLOATS_WITH(swish, a / (1 + exp(-PARAMETER(0) * a)), "alpha", NULL)
FLOATS(mish, (a * tanh(SOFTPLUS(a))))

FLOAT_PAIRS(relu_gradient, b > 0 ? a : 0)
FLOAT_PAIRS(relu6_gradient, b > 0 && b < 6 ? a : 0)
FLOAT_PAIRS(elu_gradient, b < 0 ? a * (b + 1) : a)
FLOAT_PAIRS(selu_gradient, b < 0 ? a * (b + SELU_SCALE * SELU_ALPHA) : a * SELU_SCALE)
FLOAT_PAIRS(softplus_gradient, a / (1 + exp(-b)))
FLOAT_PAIRS(softsign_gradient, a / ((1 + fabs(b)) * (1 + fabs(b))))
FLOAT_PAIRS_WITH(leaky_relu_gradient, b > 0 ? a : PARAMETER(0) * a, "alpha", NULL)

FLOATS(gelu, (a * (1 + erf(a / sqrt(NUMBER(2)))) / 2))
FLOATS(gelu_tanh, (a * (1 + tanh(sqrt(NUMBER(M_2_PI)) * (a + NUMBER(0.044715) * a * a * a))) / 2))

/* Gelu with tanh in place of the error function. */
static bool
supports_gelu_by_tanh(const Node *node)
{
    return slice_equal(node_attr_string(node, "approximate"), SLICE("tanh")) && gelu_tanh_supports(node);
}

static const Kernel activation_kernels[] = {
    ELEMENTWISE_KERNEL("Relu", relu),
    ELEMENTWISE_KERNEL("Relu6", relu6),
    ELEMENTWISE_KERNEL("Elu", elu),
    ELEMENTWISE_KERNEL("Selu", selu),
    ELEMENTWISE_KERNEL("LeakyRelu", leaky_relu),
    ELEMENTWISE_KERNEL("Softplus", softplus),
    ELEMENTWISE_KERNEL("Softsign", softsign),
    ELEMENTWISE_KERNEL("ReluGrad", relu_gradient),
    ELEMENTWISE_KERNEL("Relu6Grad", relu6_gradient),
    ELEMENTWISE_KERNEL("EluGrad", elu_gradient),
    ELEMENTWISE_KERNEL("SeluGrad", selu_gradient),
    ELEMENTWISE_KERNEL("SoftplusGrad", softplus_gradient),
    ELEMENTWISE_KERNEL("SoftsignGrad", softsign_gradient),
    ELEMENTWISE_KERNEL("LeakyReluGrad", leaky_relu_gradient),
    ELEMENTWISE_KERNEL("onnx::Relu", relu),
    ELEMENTWISE_KERNEL("onnx::Elu", scaled_elu),
    ELEMENTWISE_KERNEL("onnx::Selu", scaled_selu),
    ELEMENTWISE_KERNEL("onnx::Celu", celu),
    ELEMENTWISE_KERNEL("onnx::LeakyRelu", leaky_relu),
    ELEMENTWISE_KERNEL("onnx::Softplus", softplus),
    ELEMENTWISE_KERNEL("onnx::Softsign", softsign),
    ELEMENTWISE_KERNEL("onnx::HardSigmoid", hard_sigmoid),
    ELEMENTWISE_KERNEL("onnx::HardSwish", hard_swish),
    ELEMENTWISE_KERNEL("onnx::ThresholdedRelu", thresholded_relu),
    ELEMENTWISE_KERNEL("onnx::Shrink", shrink),
    ELEMENTWISE_KERNEL("onnx::Mish", mish),
    ELEMENTWISE_KERNEL("onnx::Swish", swish),
    {.op = "onnx::Gelu",
        .supports = supports_gelu_by_tanh,
        .compute = gelu_tanh_compute,
        .element = gelu_tanh_element,
        .sharing = KERNEL_FORWARDS},
    ELEMENTWISE_KERNEL("onnx::Gelu", gelu),
};

KERNEL_FAMILY(reference, activation, activation_kernels);
