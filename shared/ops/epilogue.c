#include "shared/ops/epilogue.h"

#include <assert.h>

/* Steps come in the order of their ranks, at most one of each rank. */
typedef enum StepRank {
    RANK_NONE,
    RANK_CHANNELS,
    RANK_ADDEND,
    RANK_ACTIVATION,
} StepRank;

typedef struct Step {
    const char *name;
    StepRank rank;
    uint32_t operand_count;
    EpilogueActivation activation;
} Step;

#define ACTIVATION(name, activation)                                                                         \
    {                                                                                                        \
        name, RANK_ACTIVATION, 0, activation                                                                 \
    }

static const Step steps[] = {
    {"BiasAdd", RANK_CHANNELS, 1, EPILOGUE_NONE},
    {"FusedBatchNorm", RANK_CHANNELS, EPILOGUE_NORM_INPUTS, EPILOGUE_NONE},
    {"Add", RANK_ADDEND, 1, EPILOGUE_NONE},
    ACTIVATION("Elu", EPILOGUE_ELU),
    ACTIVATION("GeluApproximate", EPILOGUE_GELU_TANH),
    ACTIVATION("GeluExact", EPILOGUE_GELU),
    ACTIVATION("LeakyRelu", EPILOGUE_LEAKY_RELU),
    ACTIVATION("Relu", EPILOGUE_RELU),
    ACTIVATION("Relu6", EPILOGUE_RELU6),
    ACTIVATION("Sigmoid", EPILOGUE_SIGMOID),
    ACTIVATION("Tanh", EPILOGUE_TANH),
    ACTIVATION("_FusedHardSwish", EPILOGUE_HARD_SWISH),
    ACTIVATION("_FusedSwish", EPILOGUE_SWISH),
};

const char *
epilogue_activation_name(EpilogueActivation activation)
{
    for (size_t index = 0; activation != EPILOGUE_NONE && index < COUNT_OF(steps); index++) {
        if (steps[index].activation == activation) {
            return steps[index].name;
        }
    }
    return NULL;
}

static const Step *
step_find(Slice name)
{
    for (size_t index = 0; index < COUNT_OF(steps); index++) {
        if (slice_equals_string(name, steps[index].name)) {
            return &steps[index];
        }
    }
    return NULL;
}

bool
epilogue_is_transcendental(EpilogueActivation activation)
{
    return activation == EPILOGUE_ELU || activation == EPILOGUE_GELU || activation == EPILOGUE_GELU_TANH ||
           activation == EPILOGUE_SIGMOID || activation == EPILOGUE_SWISH || activation == EPILOGUE_TANH;
}

bool
epilogue_may_follow(Slice before, Slice step)
{
    const Step *last = step_find(before);
    const Step *next = step_find(step);
    return next != NULL &&
           (last == NULL || (last->rank < next->rank && !(last->rank == RANK_ADDEND &&
                                                            epilogue_is_transcendental(next->activation))));
}

static void
step_take(const Step *step, uint32_t operand, Epilogue *epilogue)
{
    if (step->rank == RANK_ACTIVATION) {
        epilogue->activation = step->activation;
    } else if (step->rank == RANK_ADDEND) {
        epilogue->addend = operand;
    } else if (step->operand_count == 1) {
        epilogue->bias = operand;
    } else {
        epilogue->norm = operand;
    }
}

Status
epilogue_read(Call *call, const Node *node, Epilogue *ret_epilogue)
{
    const AttrValue *names = node_attr(node, "fused_ops");
    Epilogue epilogue = {
        .alpha = node_attr_float(node, "leakyrelu_alpha"),
        .epsilon = node_attr_float(node, "epsilon"),
    };
    assert(names != NULL && names->is_list); /* fused ops declare it */
    StepRank rank = RANK_NONE;
    uint32_t operand = EPILOGUE_FIRST_OPERAND;
    for (size_t index = 0; index < names->value.list.count; index++) {
        Slice name = names->value.list.items[index].value.s;
        const Step *step = step_find(name);
        if (step == NULL || step->rank <= rank) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "fused_ops has '%.*s' as its step %zu%s",
                SLICE_PRINT(name), index, step == NULL ? ", which is not known" : ", which comes too late");
        }
        step_take(step, operand, &epilogue);
        operand += step->operand_count;
        rank = step->rank;
    }
    if (operand != node->input_count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "fused_ops take %u operands, not %u",
            operand - EPILOGUE_FIRST_OPERAND, node->input_count - EPILOGUE_FIRST_OPERAND);
    }
    *ret_epilogue = epilogue;
    return STATUS_OK;
}

static Status
check_channels(Call *call, const InferContext *context, uint32_t input, int64_t channels)
{
    Shape vector;
    TRY(infer_rank(call, context, input, 1, &vector));
    return infer_equal(call, channels, vector.dims[0], "the number of channels", &channels);
}

Status
epilogue_check(Call *call, const InferContext *context, const Shape *output, int channel)
{
    Epilogue epilogue;
    TRY(epilogue_read(call, context->node, &epilogue));
    assert(channel >= 0 && channel < output->rank);
    int64_t channels = output->dims[channel];
    if (epilogue.bias != 0) {
        TRY(check_channels(call, context, epilogue.bias, channels));
    }
    for (uint32_t index = 0; epilogue.norm != 0 && index < EPILOGUE_NORM_INPUTS; index++) {
        TRY(check_channels(call, context, epilogue.norm + index, channels));
    }
    Shape merged;
    if (epilogue.addend != 0 && !shape_merge(output, &context->inputs[epilogue.addend], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the addend has shape %s, not %s",
            shape_text(&context->inputs[epilogue.addend], left), shape_text(output, right));
    }
    return STATUS_OK;
}
