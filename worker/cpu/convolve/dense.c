#include "worker/cpu/convolve/dense.h"

#include <assert.h>

bool
dense_can(const ConvolveShape *shape)
{
    int64_t step = 1;
    bool is_whole = shape->is_channels_last == 0 && shape->groups == 1;
    for (int64_t i = shape->rank - 1; i >= 0; i--) {
        is_whole = is_whole && shape->output[i] == 1 && shape->before[i] == 0 &&
                   shape->input[i] == shape->size[i] && (shape->dilation[i] == 1 || shape->size[i] == 1) &&
                   (shape->filter_space[i] == step || shape->size[i] == 1);
        step *= shape->size[i];
    }
    return is_whole && shape->filter_input == step && shape->filter_output == step * shape->inputs;
}

ProductShape
dense_shape(const ConvolveShape *shape)
{
    assert(dense_can(shape));
    return (ProductShape){.m = shape->batch,
        .n = shape->outputs,
        .k = shape->filter_output,
        .transposes_b = true,
        .alpha = 1,
        .finish = shape->finish};
}

ProductOperands
dense_operands(const ConvolveOperands *operands)
{
    return (ProductOperands){.a = operands->input,
        .b = operands->filter,
        .bias = operands->bias,
        .addend = operands->addend,
        .output = operands->output};
}
