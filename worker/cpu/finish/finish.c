#include "worker/cpu/finish/finish.h"

#include <assert.h>
#include <math.h>

#include "shared/tensor/half.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

bool
finish_supports(const Node *node)
{
    Call call = {0};
    Epilogue epilogue;
    return epilogue_read(&call, node, &epilogue) == STATUS_OK && epilogue.norm == 0;
}

Finish
finish_of(const Epilogue *epilogue)
{
    bool has_alpha = epilogue->activation == EPILOGUE_LEAKY_RELU;
    return (Finish){.activation = (int32_t)epilogue->activation,
        .alpha_bits = has_alpha ? float_to_bits(epilogue->alpha) : 0};
}

const float *
finish_operand(const KernelContext *context, uint32_t input)
{
    return input == 0 ? NULL : context->inputs[input].data;
}

typedef void (*FinishLoop)(const float *addend, float alpha, float *values, int64_t count);

/* NaN is neither smaller nor larger, so comparisons leave it as it is. */
#define FINISH_LOOP(name, expression)                                                                        \
    VECTOR_FUNCTION void name##_body(const float *addend, float alpha, float *values, int64_t count)         \
    {                                                                                                        \
        (void)alpha;                                                                                         \
        if (addend == NULL) {                                                                                \
            VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                  \
            {                                                                                                \
                float a = values[n];                                                                         \
                values[n] = (expression);                                                                    \
            }                                                                                                \
        } else {                                                                                             \
            VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                  \
            {                                                                                                \
                float a = values[n] + addend[n];                                                             \
                values[n] = (expression);                                                                    \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(name, (const float *addend, float alpha, float *values, int64_t count),                  \
        (addend, alpha, values, count))

FINISH_LOOP(add, a)
FINISH_LOOP(elu, a < 0 ? exponential_minus_one_of_negative(a) : a)
FINISH_LOOP(gelu, gelu_of(a))
FINISH_LOOP(gelu_tanh, gelu_by_tangent_of(a))
FINISH_LOOP(hard_swish, hard_swish_of(a))
FINISH_LOOP(leaky_relu, a < 0 ? alpha * a : a)
FINISH_LOOP(relu, a < 0 ? 0 : a)
FINISH_LOOP(relu6, clamp(a, RELU6_BOUNDS))
FINISH_LOOP(sigmoid, sigmoid_of(a))
FINISH_LOOP(swish, swish_of(a, 1.0F))
FINISH_LOOP(hyperbolic_tangent, hyperbolic_tangent_of(a))

static const FinishLoop finish_loops[] = {
    [EPILOGUE_NONE] = add,
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

void
finish_run(const Finish *finish, const float *addend, float *values, int64_t count)
{
    assert(values != NULL || count == 0);
    if (finish->activation != EPILOGUE_NONE || addend != NULL) {
        finish_loops[finish->activation](addend, float_from_bits(finish->alpha_bits), values, count);
    }
}

FinishLimits
finish_limits(const Finish *finish)
{
    FinishLimits limits = {.lowest = -INFINITY, .highest = INFINITY};
    if (finish != NULL) {
        bool is_relu = finish->activation == EPILOGUE_RELU;
        bool is_relu6 = finish->activation == EPILOGUE_RELU6;
        limits.lowest = is_relu || is_relu6 ? 0 : limits.lowest;
        limits.highest = is_relu6 ? 6 : limits.highest;
        limits.is_finished = is_relu || is_relu6 || finish->activation == EPILOGUE_NONE;
    }
    return limits;
}
