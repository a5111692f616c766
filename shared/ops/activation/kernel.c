/* Activation functions. Parameters that ONNX lets the author choose are constants in TensorFlow's ops. */
#include <tgmath.h>

#include "worker/reference/elementwise.h"

/* Numbers in the type that the loop computes in. */
#define NUMBER(value) ((__typeof__(a))(value))
#define PARAMETER(index) NUMBER(run->parameters[index])

/* Selu's fixed point: mean 0, variance 1 (Klambauer et al., 2017). */
#define SELU_ALPHA NUMBER(1.6732632423543772848170429916717)
#define SELU_SCALE NUMBER(1.0507009873554804934193349852946)

/* log(1 + e^a) without overflow. */
#define SOFTPLUS(a) ((a) > 0 ? (a) + log1p(exp(-(a))) : log1p(exp(a)))

/* NaN passes through. */
#define CLAMP(a, low, high) ((a) < (low) ? (low) : (a) > (high) ? (high) : (a))

#define FLOATS(name, expression)                                                                             \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

#define FLOAT_PAIRS(name, expression)                                                                        \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

#define REALS(name, expression, unsigned_integer)                                                            \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    SIGNED_ELEMENTS(UNARY_LOOP, name, expression)                                                            \
    UNSIGNED_ELEMENTS(UNARY_LOOP, name, unsigned_integer)                                                    \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name)};

REALS(relu, a < 0 ? 0 : a, a)
REALS(relu6, CLAMP(a, 0, 6), a > 6 ? 6 : a)
FLOATS(elu, a < 0 ? expm1(a) : a)
FLOATS(selu, a < 0 ? SELU_SCALE * SELU_ALPHA * expm1(a) : SELU_SCALE * a)
FLOATS(leaky_relu, a < 0 ? PARAMETER(0) * a : a)
FLOATS(softplus, SOFTPLUS(a))
FLOATS(softsign, a / (1 + fabs(a)))
FLOATS(scaled_elu, a < 0 ? PARAMETER(0) * expm1(a) : a)
FLOATS(scaled_selu, a < 0 ? PARAMETER(1) * PARAMETER(0) * expm1(a) : PARAMETER(1) * a)
FLOATS(hard_sigmoid, CLAMP(PARAMETER(0) * a + PARAMETER(1), 0, 1))
FLOATS(hard_swish, a *CLAMP((a + 3) / 6, 0, 1))
FLOATS(thresholded_relu, a > PARAMETER(0) ? a : 0)
FLOATS(celu, a < 0 ? PARAMETER(0) * expm1(a / PARAMETER(0)) : a)
FLOATS(mish, a *tanh(SOFTPLUS(a)))

FLOAT_PAIRS(relu_gradient, b > 0 ? a : 0)
FLOAT_PAIRS(relu6_gradient, b > 0 && b < 6 ? a : 0)
FLOAT_PAIRS(elu_gradient, b < 0 ? a * (b + 1) : a)
FLOAT_PAIRS(selu_gradient, b < 0 ? a * (b + SELU_SCALE * SELU_ALPHA) : a * SELU_SCALE)
FLOAT_PAIRS(softplus_gradient, a / (1 + exp(-b)))
FLOAT_PAIRS(softsign_gradient, a / ((1 + fabs(b)) * (1 + fabs(b))))
FLOAT_PAIRS(leaky_relu_gradient, b > 0 ? a : PARAMETER(0) * a)

/* Exact, or with tanh in place of the error function. */
FLOATS(gelu, a *(1 + erf(a / sqrt(NUMBER(2)))) / 2)
FLOATS(gelu_tanh, a *(1 + tanh(sqrt(NUMBER(M_2_PI)) * (a + NUMBER(0.044715) * a * a * a))) / 2)

static const ElementwiseOp gelu_rows[] = {
    {.name = "onnx::Gelu", .loops = gelu_loops},
    {.name = "onnx::Gelu", .loops = gelu_tanh_loops},
};

static bool
gelu_supports(const Node *node)
{
    return elementwise_find(gelu_rows, 1, node) != NULL;
}

static const ElementwiseOp *
gelu_row(const Node *node)
{
    return &gelu_rows[slice_equal(node_attr_string(node, "approximate"), SLICE("tanh")) ? 1 : 0];
}

static bool
gelu_element(const Node *node, ElementFunction *ret_function)
{
    return elementwise_tell(gelu_row(node), node, ret_function);
}

static Status
gelu_compute(KernelContext *context)
{
    return elementwise_compute(context, gelu_row(context->node));
}

#define ACTIVATION_OPS(X)                                                                                    \
    X("Relu", relu, NULL, NULL)                                                                              \
    X("Relu6", relu6, NULL, NULL)                                                                            \
    X("Elu", elu, NULL, NULL)                                                                                \
    X("Selu", selu, NULL, NULL)                                                                              \
    X("LeakyRelu", leaky_relu, "alpha", NULL)                                                                \
    X("Softplus", softplus, NULL, NULL)                                                                      \
    X("Softsign", softsign, NULL, NULL)                                                                      \
    X("ReluGrad", relu_gradient, NULL, NULL)                                                                 \
    X("Relu6Grad", relu6_gradient, NULL, NULL)                                                               \
    X("EluGrad", elu_gradient, NULL, NULL)                                                                   \
    X("SeluGrad", selu_gradient, NULL, NULL)                                                                 \
    X("SoftplusGrad", softplus_gradient, NULL, NULL)                                                         \
    X("SoftsignGrad", softsign_gradient, NULL, NULL)                                                         \
    X("LeakyReluGrad", leaky_relu_gradient, "alpha", NULL)                                                   \
    X("onnx::Relu", relu, NULL, NULL)                                                                        \
    X("onnx::Elu", scaled_elu, "alpha", NULL)                                                                \
    X("onnx::Selu", scaled_selu, "alpha", "gamma")                                                           \
    X("onnx::Celu", celu, "alpha", NULL)                                                                     \
    X("onnx::LeakyRelu", leaky_relu, "alpha", NULL)                                                          \
    X("onnx::Softplus", softplus, NULL, NULL)                                                                \
    X("onnx::Softsign", softsign, NULL, NULL)                                                                \
    X("onnx::HardSigmoid", hard_sigmoid, "alpha", "beta")                                                    \
    X("onnx::HardSwish", hard_swish, NULL, NULL)                                                             \
    X("onnx::ThresholdedRelu", thresholded_relu, "alpha", NULL)                                              \
    X("onnx::Mish", mish, NULL, NULL)

#define OP_ROW(op, function, first, second)                                                                  \
    {.name = (op), .loops = function##_loops, .parameters = {first, second}},
static const ElementwiseOp activation_rows[] = {ACTIVATION_OPS(OP_ROW)};

ELEMENTWISE_FUNCTIONS(activation, activation_rows, elementwise_compute, elementwise_tell)

#define OP_KERNEL(name, function, first, second)                                                             \
    {.op = (name),                                                                                           \
        .supports = activation_supports,                                                                     \
        .compute = activation_compute,                                                                       \
        .element = activation_element,                                                                       \
        .sharing = KERNEL_FORWARDS},
static const Kernel activation_kernels[] = {
    ACTIVATION_OPS(OP_KERNEL) /* */
    {.op = "onnx::Gelu",
        .supports = gelu_supports,
        .compute = gelu_compute,
        .element = gelu_element,
        .sharing = KERNEL_FORWARDS},
};

KERNEL_FAMILY(reference, activation, activation_kernels);
