/* Element-wise ops: functions of one to three inputs that broadcast. Integers that a function may not be
 * given (a divisor of zero, a negative exponent) are found by a kernel of their own in front of it. */
#include "worker/cuda/kernels/elementwise.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/ops/layout.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/fusion/source.h"
#include "worker/cuda/operands/fused.h"
#include "worker/cuda/operands/map.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef struct MapOp {
    const char *op;
    CudaMapFunction function;
    const char *parameters[CUDA_MAP_PARAMETERS_MAX]; /* the attributes that are the function's parameters */
} MapOp;

/* Ops of one dtype whose inputs, as many as the function has, broadcast as NumPy's do. */
#define MAP_OPS(X)                                                                                           \
    X("Abs", ABSOLUTE, NULL, NULL)                                                                           \
    X("Neg", NEGATE, NULL, NULL)                                                                             \
    X("Sign", SIGN, NULL, NULL)                                                                              \
    X("Square", SQUARE, NULL, NULL)                                                                          \
    X("Sqrt", SQUARE_ROOT, NULL, NULL)                                                                       \
    X("Rsqrt", RECIPROCAL_SQUARE_ROOT, NULL, NULL)                                                           \
    X("Reciprocal", RECIPROCAL, NULL, NULL)                                                                  \
    X("Inv", RECIPROCAL, NULL, NULL)                                                                         \
    X("Exp", EXPONENTIAL, NULL, NULL)                                                                        \
    X("Expm1", EXPONENTIAL_MINUS_ONE, NULL, NULL)                                                            \
    X("Log", LOGARITHM, NULL, NULL)                                                                          \
    X("Log1p", LOGARITHM_OF_ONE_PLUS, NULL, NULL)                                                            \
    X("Floor", ROUND_DOWN, NULL, NULL)                                                                       \
    X("Ceil", ROUND_UP, NULL, NULL)                                                                          \
    X("Round", ROUND_EVEN, NULL, NULL)                                                                       \
    X("Rint", ROUND_EVEN, NULL, NULL)                                                                        \
    X("Erf", ERROR_FUNCTION, NULL, NULL)                                                                     \
    X("Erfc", ERROR_FUNCTION_COMPLEMENT, NULL, NULL)                                                         \
    X("Invert", INVERT, NULL, NULL)                                                                          \
    X("Sin", SINE, NULL, NULL)                                                                               \
    X("Cos", COSINE, NULL, NULL)                                                                             \
    X("Tan", TANGENT, NULL, NULL)                                                                            \
    X("Asin", ARC_SINE, NULL, NULL)                                                                          \
    X("Acos", ARC_COSINE, NULL, NULL)                                                                        \
    X("Atan", ARC_TANGENT, NULL, NULL)                                                                       \
    X("Sinh", HYPERBOLIC_SINE, NULL, NULL)                                                                   \
    X("Cosh", HYPERBOLIC_COSINE, NULL, NULL)                                                                 \
    X("Tanh", HYPERBOLIC_TANGENT, NULL, NULL)                                                                \
    X("Asinh", AREA_SINE, NULL, NULL)                                                                        \
    X("Acosh", AREA_COSINE, NULL, NULL)                                                                      \
    X("Atanh", AREA_TANGENT, NULL, NULL)                                                                     \
    X("Sigmoid", SIGMOID, NULL, NULL)                                                                        \
    X("IsNan", IS_NAN, NULL, NULL)                                                                           \
    X("IsInf", IS_INFINITE, NULL, NULL)                                                                      \
    X("IsFinite", IS_FINITE, NULL, NULL)                                                                     \
    X("SigmoidGrad", SIGMOID_GRADIENT, NULL, NULL)                                                           \
    X("TanhGrad", TANH_GRADIENT, NULL, NULL)                                                                 \
    X("RsqrtGrad", RSQRT_GRADIENT, NULL, NULL)                                                               \
    X("SqrtGrad", SQRT_GRADIENT, NULL, NULL)                                                                 \
    X("InvGrad", RECIPROCAL_GRADIENT, NULL, NULL)                                                            \
    X("ReciprocalGrad", RECIPROCAL_GRADIENT, NULL, NULL)                                                     \
    X("onnx::Abs", ABSOLUTE, NULL, NULL)                                                                     \
    X("onnx::Neg", NEGATE, NULL, NULL)                                                                       \
    X("onnx::Sign", SIGN, NULL, NULL)                                                                        \
    X("onnx::Sqrt", SQUARE_ROOT, NULL, NULL)                                                                 \
    X("onnx::Reciprocal", RECIPROCAL, NULL, NULL)                                                            \
    X("onnx::Exp", EXPONENTIAL, NULL, NULL)                                                                  \
    X("onnx::Log", LOGARITHM, NULL, NULL)                                                                    \
    X("onnx::Floor", ROUND_DOWN, NULL, NULL)                                                                 \
    X("onnx::Ceil", ROUND_UP, NULL, NULL)                                                                    \
    X("onnx::Round", ROUND_EVEN, NULL, NULL)                                                                 \
    X("onnx::Erf", ERROR_FUNCTION, NULL, NULL)                                                               \
    X("onnx::BitwiseNot", INVERT, NULL, NULL)                                                                \
    X("onnx::Sin", SINE, NULL, NULL)                                                                         \
    X("onnx::Cos", COSINE, NULL, NULL)                                                                       \
    X("onnx::Tan", TANGENT, NULL, NULL)                                                                      \
    X("onnx::Asin", ARC_SINE, NULL, NULL)                                                                    \
    X("onnx::Acos", ARC_COSINE, NULL, NULL)                                                                  \
    X("onnx::Atan", ARC_TANGENT, NULL, NULL)                                                                 \
    X("onnx::Sinh", HYPERBOLIC_SINE, NULL, NULL)                                                             \
    X("onnx::Cosh", HYPERBOLIC_COSINE, NULL, NULL)                                                           \
    X("onnx::Tanh", HYPERBOLIC_TANGENT, NULL, NULL)                                                          \
    X("onnx::Asinh", AREA_SINE, NULL, NULL)                                                                  \
    X("onnx::Acosh", AREA_COSINE, NULL, NULL)                                                                \
    X("onnx::Atanh", AREA_TANGENT, NULL, NULL)                                                               \
    X("onnx::Sigmoid", SIGMOID, NULL, NULL)                                                                  \
    X("onnx::IsNaN", IS_NAN, NULL, NULL)                                                                     \
    X("onnx::IsInf", IS_CHOSEN_INFINITY, "detect_negative", "detect_positive")                               \
    X("Relu", RELU, NULL, NULL)                                                                              \
    X("Relu6", RELU6, NULL, NULL)                                                                            \
    X("Elu", ELU, NULL, NULL)                                                                                \
    X("Selu", SELU, NULL, NULL)                                                                              \
    X("LeakyRelu", LEAKY_RELU, "alpha", NULL)                                                                \
    X("Softplus", SOFTPLUS, NULL, NULL)                                                                      \
    X("Softsign", SOFTSIGN, NULL, NULL)                                                                      \
    X("ReluGrad", RELU_GRADIENT, NULL, NULL)                                                                 \
    X("Relu6Grad", RELU6_GRADIENT, NULL, NULL)                                                               \
    X("EluGrad", ELU_GRADIENT, NULL, NULL)                                                                   \
    X("SeluGrad", SELU_GRADIENT, NULL, NULL)                                                                 \
    X("SoftplusGrad", SOFTPLUS_GRADIENT, NULL, NULL)                                                         \
    X("SoftsignGrad", SOFTSIGN_GRADIENT, NULL, NULL)                                                         \
    X("LeakyReluGrad", LEAKY_RELU_GRADIENT, "alpha", NULL)                                                   \
    X("onnx::Relu", RELU, NULL, NULL)                                                                        \
    X("onnx::Elu", SCALED_ELU, "alpha", NULL)                                                                \
    X("onnx::Selu", SCALED_SELU, "alpha", "gamma")                                                           \
    X("onnx::Celu", CELU, "alpha", NULL)                                                                     \
    X("onnx::LeakyRelu", LEAKY_RELU, "alpha", NULL)                                                          \
    X("onnx::Softplus", SOFTPLUS, NULL, NULL)                                                                \
    X("onnx::Softsign", SOFTSIGN, NULL, NULL)                                                                \
    X("onnx::HardSigmoid", HARD_SIGMOID, "alpha", "beta")                                                    \
    X("onnx::HardSwish", HARD_SWISH, NULL, NULL)                                                             \
    X("onnx::ThresholdedRelu", THRESHOLDED_RELU, "alpha", NULL)                                              \
    X("onnx::Shrink", SHRINK, "lambd", "bias")                                                               \
    X("onnx::Swish", SWISH, "alpha", NULL)                                                                   \
    X("onnx::Mish", MISH, NULL, NULL)                                                                        \
    X("onnx::Gelu", GELU, NULL, NULL)                                                                        \
    X("Add", ADD, NULL, NULL)                                                                                \
    X("AddV2", ADD, NULL, NULL)                                                                              \
    X("Sub", SUBTRACT, NULL, NULL)                                                                           \
    X("Mul", MULTIPLY, NULL, NULL)                                                                           \
    X("MulNoNan", MULTIPLY_NO_NAN, NULL, NULL)                                                               \
    X("Div", DIVIDE, NULL, NULL)                                                                             \
    X("RealDiv", DIVIDE, NULL, NULL)                                                                         \
    X("TruncateDiv", TRUNCATE_DIVIDE, NULL, NULL)                                                            \
    X("TruncateMod", REMAINDER, NULL, NULL)                                                                  \
    X("DivNoNan", DIVIDE_NO_NAN, NULL, NULL)                                                                 \
    X("FloorDiv", FLOOR_DIVIDE, NULL, NULL)                                                                  \
    X("FloorMod", FLOOR_REMAINDER, NULL, NULL)                                                               \
    X("Mod", REMAINDER, NULL, NULL)                                                                          \
    X("Maximum", LARGER, NULL, NULL)                                                                         \
    X("Minimum", SMALLER, NULL, NULL)                                                                        \
    X("Pow", POWER, NULL, NULL)                                                                              \
    X("SquaredDifference", SQUARED_DIFFERENCE, NULL, NULL)                                                   \
    X("BitwiseAnd", BITWISE_AND, NULL, NULL)                                                                 \
    X("BitwiseOr", BITWISE_OR, NULL, NULL)                                                                   \
    X("BitwiseXor", BITWISE_XOR, NULL, NULL)                                                                 \
    X("Xdivy", XDIVY, NULL, NULL)                                                                            \
    X("Xlogy", XLOGY, NULL, NULL)                                                                            \
    X("Atan2", ARC_TANGENT_OF_TWO, NULL, NULL)                                                               \
    X("onnx::Add", ADD, NULL, NULL)                                                                          \
    X("onnx::Sub", SUBTRACT, NULL, NULL)                                                                     \
    X("onnx::Mul", MULTIPLY, NULL, NULL)                                                                     \
    X("onnx::Div", DIVIDE, NULL, NULL)                                                                       \
    X("onnx::Mod", FLOOR_REMAINDER, NULL, NULL)                                                              \
    X("onnx::PRelu", SLOPE, NULL, NULL)                                                                      \
    X("LeftShift", SHIFT_LEFT, NULL, NULL)                                                                   \
    X("RightShift", SHIFT_RIGHT, NULL, NULL)                                                                 \
    X("ApproximateEqual", IS_NEAR, "tolerance", NULL)                                                        \
    X("onnx::BitwiseAnd", BITWISE_AND, NULL, NULL)                                                           \
    X("onnx::BitwiseOr", BITWISE_OR, NULL, NULL)                                                             \
    X("onnx::BitwiseXor", BITWISE_XOR, NULL, NULL)                                                           \
    X("Equal", EQUAL, NULL, NULL)                                                                            \
    X("NotEqual", NOT_EQUAL, NULL, NULL)                                                                     \
    X("Less", LESS, NULL, NULL)                                                                              \
    X("LessEqual", LESS_EQUAL, NULL, NULL)                                                                   \
    X("Greater", GREATER, NULL, NULL)                                                                        \
    X("GreaterEqual", GREATER_EQUAL, NULL, NULL)                                                             \
    X("LogicalAnd", LOGICAL_AND, NULL, NULL)                                                                 \
    X("LogicalOr", LOGICAL_OR, NULL, NULL)                                                                   \
    X("LogicalNot", LOGICAL_NOT, NULL, NULL)                                                                 \
    X("onnx::Equal", EQUAL, NULL, NULL)                                                                      \
    X("onnx::Less", LESS, NULL, NULL)                                                                        \
    X("onnx::LessOrEqual", LESS_EQUAL, NULL, NULL)                                                           \
    X("onnx::Greater", GREATER, NULL, NULL)                                                                  \
    X("onnx::GreaterOrEqual", GREATER_EQUAL, NULL, NULL)                                                     \
    X("onnx::And", LOGICAL_AND, NULL, NULL)                                                                  \
    X("onnx::Or", LOGICAL_OR, NULL, NULL)                                                                    \
    X("onnx::Xor", LOGICAL_XOR, NULL, NULL)                                                                  \
    X("onnx::Not", LOGICAL_NOT, NULL, NULL)                                                                  \
    X("Lgamma", LOGARITHM_OF_GAMMA, NULL, NULL)                                                              \
    X("Digamma", DIGAMMA, NULL, NULL)                                                                        \
    X("Zeta", ZETA, NULL, NULL)                                                                              \
    X("Polygamma", POLYGAMMA, NULL, NULL)                                                                    \
    X("Igamma", LOWER_GAMMA, NULL, NULL)                                                                     \
    X("Igammac", UPPER_GAMMA, NULL, NULL)                                                                    \
    X("Betainc", INCOMPLETE_BETA, NULL, NULL)                                                                \
    X("NextAfter", NEIGHBOUR, NULL, NULL)                                                                    \
    X("ClipByValue", LIMIT, NULL, NULL)

/* Ops of any number of inputs, folded from the left. */
#define FOLD_OPS(X)                                                                                          \
    X("AddN", ADD, NULL, NULL)                                                                               \
    X("AccumulateNV2", ADD, NULL, NULL)                                                                      \
    X("onnx::Sum", ADD, NULL, NULL)                                                                          \
    X("onnx::Max", LARGER, NULL, NULL)                                                                       \
    X("onnx::Min", SMALLER, NULL, NULL)                                                                      \
    X("onnx::Mean", ADD, NULL, NULL)

/* Ops with rules of their own for the inputs' types or shapes. */
#define OTHER_OPS(X)                                                                                         \
    X("onnx::Pow", POWER, NULL, NULL)                                                                        \
    X("onnx::BitShift", SHIFT_OUT_RIGHT, NULL, NULL)                                                         \
    X("BiasAdd", ADD, NULL, NULL)                                                                            \
    X("BiasAddV1", ADD, NULL, NULL)

#define MAP_OP(name, function, first, second) {name, CUDA_MAP_##function, {first, second}},
static const MapOp map_ops[] = {MAP_OPS(MAP_OP) FOLD_OPS(MAP_OP) OTHER_OPS(MAP_OP)};

static const MapOp *
find_map(const Node *node)
{
    for (size_t index = 0; index < COUNT_OF(map_ops); index++) {
        if (slice_equals_string(node->op->name, map_ops[index].op)) {
            return &map_ops[index];
        }
    }
    assert(false);
    return NULL;
}

static CudaMapFunction
choose_function(const Node *node)
{
    CudaMapFunction function = find_map(node)->function;
    if (function == CUDA_MAP_GELU && slice_equal(node_attr_string(node, "approximate"), SLICE("tanh"))) {
        return CUDA_MAP_GELU_BY_TANH;
    }
    if (function == CUDA_MAP_SHIFT_OUT_RIGHT &&
        slice_equal(node_attr_string(node, "direction"), SLICE("LEFT"))) {
        return CUDA_MAP_SHIFT_OUT_LEFT;
    }
    const AttrValue *takes_sign_of_dividend = node_attr(node, "fmod");
    return takes_sign_of_dividend != NULL && takes_sign_of_dividend->value.i != 0 ? CUDA_MAP_REMAINDER
                                                                                  : function;
}

static bool
supports_map(const Node *node)
{
    CudaType type = cuda_type(node->input_dtypes[0]);
    for (uint32_t index = 1; index < node->input_count; index++) {
        if (node->input_dtypes[index] != node->input_dtypes[0]) {
            return false;
        }
    }
    const AttrValue *demands_shapes = node_attr(node, "incompatible_shape_error");
    return node->input_count > 0 && type != CUDA_INVALID &&
           (demands_shapes == NULL || demands_shapes->value.b) &&
           cuda_map(choose_function(node), type, NULL, NULL) == cudaSuccess;
}

static float
read_parameter(const Node *node, const char *name)
{
    const AttrValue *value = name == NULL ? NULL : node_attr(node, name);
    if (value == NULL) {
        return 0;
    }
    return value->kind == ATTR_FLOAT ? node_attr_float(node, name) : (float)node_attr_int(node, name);
}

static bool
is_shift(CudaMapFunction function)
{
    return function >= CUDA_MAP_SHIFT_LEFT && function <= CUDA_MAP_SHIFT_OUT_RIGHT;
}

static Status
create_map(Call *call, const Node *node, void **ret_state)
{
    const MapOp *op = find_map(node);
    CudaFunction *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "a kernel");
    }
    state->function = choose_function(node);
    bool is_bias = slice_starts_with(node->op->name, SLICE("BiasAdd"));
    state->rule = is_bias ? CUDA_SHAPES_OF_BIAS : CUDA_SHAPES_BROADCAST;
    for (int index = 0; index < CUDA_MAP_PARAMETERS_MAX; index++) {
        state->parameters[index] = read_parameter(node, op->parameters[index]);
    }
    if (is_shift(state->function)) {
        state->parameters[0] = (float)(CHAR_BIT * dtype_size(node->input_dtypes[0]));
    }
    *ret_state = state;
    return STATUS_OK;
}

static Status
run_map(KernelContext *context, CudaMapFunction function, const float *parameters,
    const Tensor *const *inputs, int input_count, const Tensor *output)
{
    CudaMap map = operands_map(inputs, input_count, output);
    if (map.count == 0) {
        return STATUS_OK;
    }
    memcpy(map.parameters, parameters, sizeof map.parameters);
    int error = cuda_map(function, cuda_type(inputs[0]->dtype), &map, cuda_stream(context));
    return cuda_check(context->call, error, "an element-wise kernel");
}

static const CudaOperandRule operand_rules[CUDA_MAP_COUNT] = {
    [CUDA_MAP_DIVIDE] = CUDA_NOT_ZERO,
    [CUDA_MAP_TRUNCATE_DIVIDE] = CUDA_NOT_ZERO,
    [CUDA_MAP_FLOOR_DIVIDE] = CUDA_NOT_ZERO,
    [CUDA_MAP_REMAINDER] = CUDA_NOT_ZERO,
    [CUDA_MAP_FLOOR_REMAINDER] = CUDA_NOT_ZERO,
    [CUDA_MAP_POWER] = CUDA_NOT_NEGATIVE,
};

/* Has the second input looked at, before the output may take its place. */
static Status
check_operands(const KernelContext *context, CudaMapFunction function)
{
    CudaOperandRule rule = operand_rules[function];
    if (rule == CUDA_ANY_OPERAND || !dtype_is_integer(context->inputs[1].dtype)) {
        return STATUS_OK;
    }
    const Tensor *operands = &context->inputs[1];
    CudaBlame blame;
    TRY(cuda_blame(context, CUDA_REFUSES_OPERAND, &blame));
    int error = cuda_check_operands(rule, cuda_type(operands->dtype), operands->data,
        tensor_element_count(operands), &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a check of integers");
}

/* Returns the input whose memory the output may take over: the larger one of the first two. */
static uint32_t
pick_forwarded(const KernelContext *context)
{
    return context->input_count > 1 &&
                   tensor_element_count(&context->inputs[0]) < tensor_element_count(&context->inputs[1])
               ? 1
               : 0;
}

static Status
compute_map(KernelContext *context)
{
    const CudaFunction *state = context->state;
    const Tensor *inputs[CUDA_MAP_INPUTS_MAX];
    assert(context->input_count <= CUDA_MAP_INPUTS_MAX);
    for (uint32_t index = 0; index < context->input_count; index++) {
        inputs[index] = &context->inputs[index];
    }
    TRY(check_operands(context, state->function));
    Tensor *output = NULL;
    TRY(output_forward(context, pick_forwarded(context), &output));
    return run_map(context, state->function, state->parameters, inputs, (int)context->input_count, output);
}

/* ONNX shifts integers without a sign. */
static bool
supports_onnx_shift(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return dtype >= DTYPE_UINT8 && dtype <= DTYPE_UINT64 && supports_map(node);
}

static bool
supports_onnx_power(const Node *node)
{
    CudaType base = cuda_type(node->input_dtypes[0]);
    CudaType exponent = cuda_type(node->input_dtypes[1]);
    return base != CUDA_INVALID && exponent != CUDA_INVALID && base != CUDA_BOOL && exponent != CUDA_BOOL;
}

static Status
convert(KernelContext *context, const Tensor *from, const Tensor *to)
{
    int error = cuda_convert(cuda_type(from->dtype), from->data, cuda_type(to->dtype), to->data,
        tensor_element_count(from), cuda_stream(context));
    return cuda_check(context->call, error, "a conversion");
}

static Status
power_of_converted(KernelContext *context, const CudaFunction *state, Dtype dtype, const Tensor *output)
{
    AUTO_TENSOR base = {0};
    AUTO_TENSOR exponent = {0};
    AUTO_TENSOR result = {0};
    const Tensor *inputs[] = {&base, &exponent};
    TRY(scratch_new(context, dtype, &context->inputs[0].shape, &base));
    TRY(scratch_new(context, dtype, &context->inputs[1].shape, &exponent));
    TRY(scratch_new(context, dtype, &output->shape, &result));
    TRY(convert(context, &context->inputs[0], &base));
    TRY(convert(context, &context->inputs[1], &exponent));
    TRY(run_map(context, state->function, state->parameters, inputs, COUNT_OF(inputs), &result));
    return convert(context, &result, output);
}

/* ONNX's Pow may have an exponent of another dtype: both are then converted to int64 when both are integers,
 * else to float64. */
static Status
compute_onnx_power(KernelContext *context)
{
    const CudaFunction *state = context->state;
    Tensor *output = NULL;
    bool has_integers =
        dtype_is_integer(context->inputs[0].dtype) && dtype_is_integer(context->inputs[1].dtype);
    if (context->inputs[0].dtype == context->inputs[1].dtype) {
        return compute_map(context);
    }
    if (has_integers) {
        TRY(check_operands(context, state->function));
    }
    TRY(output_new(context, &output));
    return output->data == NULL
               ? STATUS_OK
               : power_of_converted(context, state, has_integers ? DTYPE_INT64 : DTYPE_FLOAT64, output);
}

/* ONNX's Mean is the sum, divided by the number of inputs. */
static Status
divide_by_count(KernelContext *context)
{
    float parameters[CUDA_MAP_PARAMETERS_MAX] = {(float)context->input_count};
    const Tensor *inputs[] = {&context->outputs[0]};
    return run_map(context, CUDA_MAP_DIVIDE_BY_PARAMETER, parameters, inputs, 1, &context->outputs[0]);
}

static Status
compute_fold(KernelContext *context)
{
    const CudaFunction *state = context->state;
    if (context->input_count == 1) {
        kernel_alias(context, 0, 0, &context->inputs[0].shape);
        return STATUS_OK;
    }
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const Tensor *first = &context->inputs[0];
    for (uint32_t index = 1; index < context->input_count; index++) {
        const Tensor *inputs[] = {first, &context->inputs[index]};
        TRY(run_map(context, state->function, state->parameters, inputs, 2, output));
        first = output;
    }
    return slice_equals_string(context->node->op->name, "onnx::Mean") ? divide_by_count(context) : STATUS_OK;
}

static bool
supports_mean(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && supports_map(node);
}

/* A bias lies along the channels: the last dimension or, in NC… formats, the second. */
static Status
compute_bias(KernelContext *context)
{
    const CudaFunction *state = context->state;
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    Tensor bias = context->inputs[1];
    bias.shape.rank = layout_is_channels_first(context->node) ? output->shape.rank - 1 : 1;
    for (int index = 1; index < bias.shape.rank; index++) {
        bias.shape.dims[index] = 1;
    }
    const Tensor *inputs[] = {&context->inputs[0], &bias};
    return run_map(context, state->function, state->parameters, inputs, 2, output);
}

/* A node that may refuse an element has a kernel of its own, which tells so. The inputs of ONNX's Pow may be
 * of two dtypes, which are converted first. */
static bool
may_fuse(const Node *node)
{
    CudaMapFunction function = choose_function(node);
    for (uint32_t index = 1; index < node->input_count; index++) {
        if (node->input_dtypes[index] != node->input_dtypes[0]) {
            return false;
        }
    }
    bool may_refuse = operand_rules[function] != CUDA_ANY_OPERAND && dtype_is_integer(node->input_dtypes[0]);
    return !may_refuse && fusion_inputs(function, cuda_type(node->input_dtypes[0])) == (int)node->input_count;
}

static bool
may_fuse_bias(const Node *node)
{
    return !layout_is_channels_first(node) && may_fuse(node);
}

static const KernelFusion bias_fusion = {
    .may_join = may_fuse_bias,
    .create = cuda_fused_create,
    .destroy = cuda_fused_destroy,
    .compute = cuda_fused_compute,
};

static const KernelFusion map_fusion = {
    .may_join = may_fuse,
    .create = cuda_fused_create,
    .destroy = cuda_fused_destroy,
    .compute = cuda_fused_compute,
};

static void
destroy_map(void *state)
{
    memory_free(state);
}

#define MAP_KERNEL(name, ...)                                                                                \
    {.op = name,                                                                                             \
        .supports = supports_map,                                                                            \
        .create = create_map,                                                                                \
        .destroy = destroy_map,                                                                              \
        .compute = compute_map,                                                                              \
        .fusion = &map_fusion,                                                                               \
        .sharing = KERNEL_FORWARDS},
#define OTHER_KERNEL(name, support, computing)                                                               \
    {                                                                                                        \
        .op = name, .supports = support, .create = create_map, .destroy = destroy_map, .compute = computing  \
    }
#define OTHER_FUSED_KERNEL(name, support, computing, fused)                                                  \
    {                                                                                                        \
        .op = name, .supports = support, .create = create_map, .destroy = destroy_map, .compute = computing, \
        .fusion = fused                                                                                      \
    }

static const Kernel elementwise_kernels[] = {
    MAP_OPS(MAP_KERNEL) OTHER_KERNEL("AddN", supports_map, compute_fold),
    OTHER_KERNEL("AccumulateNV2", supports_map, compute_fold),
    OTHER_KERNEL("onnx::Sum", supports_map, compute_fold),
    OTHER_KERNEL("onnx::Max", supports_map, compute_fold),
    OTHER_KERNEL("onnx::Min", supports_map, compute_fold),
    OTHER_KERNEL("onnx::Mean", supports_mean, compute_fold),
    OTHER_FUSED_KERNEL("BiasAdd", supports_map, compute_bias, &bias_fusion),
    OTHER_FUSED_KERNEL("BiasAddV1", supports_map, compute_bias, &bias_fusion),
    OTHER_FUSED_KERNEL("onnx::Pow", supports_onnx_power, compute_onnx_power, &map_fusion),
    OTHER_KERNEL("onnx::BitShift", supports_onnx_shift, compute_map),
};

KERNEL_FAMILY(cuda_kernels, elementwise, elementwise_kernels);
