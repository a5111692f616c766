#include "worker/reference/epilogue.h"

#include <assert.h>
#include <math.h>

#include "worker/reference/cast.h"
#include "worker/reference/scratch.h"

typedef double (*Activate)(double x, double alpha);

#define ACTIVATE(name, expression)                                                                           \
    static double name(double x, double alpha)                                                               \
    {                                                                                                        \
        (void)alpha;                                                                                         \
        return expression;                                                                                   \
    }

/* NaN passes through. */
static double
clamp(double x, double low, double high)
{
    double raised = x < low ? low : x;
    return raised > high ? high : raised;
}

ACTIVATE(nothing, x)
ACTIVATE(elu, x < 0 ? expm1(x) : x)
ACTIVATE(gelu, x *(1 + erf(x * M_SQRT1_2)) / 2)
ACTIVATE(gelu_tanh, x *(1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x))) / 2)
ACTIVATE(hard_swish, x *clamp((x + 3) / 6, 0, 1))
ACTIVATE(leaky_relu, x < 0 ? alpha * x : x)
ACTIVATE(relu, x < 0 ? 0 : x)
ACTIVATE(relu6, clamp(x, 0, 6))
ACTIVATE(sigmoid, 1 / (1 + exp(-x)))
ACTIVATE(swish, x / (1 + exp(-x)))
ACTIVATE(hyperbolic_tangent, tanh(x))

static const Activate activate_table[] = {
    [EPILOGUE_NONE] = nothing,
    [EPILOGUE_ELU] = elu,
    [EPILOGUE_GELU] = gelu,
    [EPILOGUE_GELU_TANH] = gelu_tanh,
    [EPILOGUE_HARD_SWISH] = hard_swish,
    [EPILOGUE_LEAKY_RELU] = leaky_relu,
    [EPILOGUE_RELU] = relu,
    [EPILOGUE_RELU6] = relu6,
    [EPILOGUE_SIGMOID] = sigmoid,
    [EPILOGUE_SWISH] = swish,
    [EPILOGUE_TANH] = hyperbolic_tangent,
};

/* The operands in double, in the order of the node's inputs behind its own two. */
typedef struct Operands {
    Tensor tensors[EPILOGUE_OPERANDS_MAX];
} Operands;

static void
operands_done(Operands *operands)
{
    for (size_t index = 0; index < COUNT_OF(operands->tensors); index++) {
        tensor_unref(&operands->tensors[index]);
    }
}

static double
at(const Operands *operands, uint32_t input, int64_t index)
{
    const double *values = operands->tensors[input - EPILOGUE_FIRST_OPERAND].data;
    assert(values != NULL);
    return values[index];
}

static double
finish(const Epilogue *epilogue, const Operands *operands, double x, int64_t position, int64_t channel)
{
    uint32_t norm = epilogue->norm;
    if (epilogue->bias != 0) {
        x += at(operands, epilogue->bias, channel);
    }
    if (norm != 0) {
        double variance = at(operands, norm + 3, channel) + (double)epilogue->epsilon;
        double factor = at(operands, norm, channel) / sqrt(variance);
        x = (x - at(operands, norm + 2, channel)) * factor + at(operands, norm + 1, channel);
    }
    if (epilogue->addend != 0) {
        x += at(operands, epilogue->addend, position);
    }
    return activate_table[epilogue->activation](x, (double)epilogue->alpha);
}

bool
epilogue_supports(const Node *node)
{
    return node->input_count <= EPILOGUE_FIRST_OPERAND + EPILOGUE_OPERANDS_MAX;
}

Status
epilogue_finish(KernelContext *context, int channel)
{
    CLEANUP(operands_done) Operands operands = {0};
    AUTO_TENSOR values = {0};
    Epilogue epilogue;
    Tensor *output = &context->outputs[0];
    TRY(epilogue_read(context->call, context->node, &epilogue));
    TRY(scratch_cast(context, output, DTYPE_FLOAT64, &values));
    for (uint32_t index = EPILOGUE_FIRST_OPERAND; index < context->input_count; index++) {
        TRY(scratch_cast(context, &context->inputs[index], DTYPE_FLOAT64,
            &operands.tensors[index - EPILOGUE_FIRST_OPERAND]));
    }
    Lines lines = lines_along(&output->shape, channel);
    double *results = values.data;
    int64_t count = tensor_element_count(output);
    for (int64_t position = 0; position < count; position++) {
        results[position] =
            finish(&epilogue, &operands, results[position], position, position / lines.inner % lines.size);
    }
    cast_tensor(&values, output);
    return STATUS_OK;
}
