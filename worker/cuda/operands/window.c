#include "worker/cuda/operands/window.h"

#include <assert.h>

static_assert((int)WINDOW_RANK_MAX == (int)CUDA_WINDOW_RANK_MAX, "windows have one rank");

static CudaSteps
copy_steps(const Steps *steps, int rank)
{
    CudaSteps copied = {.batch = steps->batch, .channel = steps->channel};
    memcpy(copied.space, steps->space, (size_t)rank * sizeof *steps->space);
    return copied;
}

CudaWindow
operands_window(const Window *window, const Shape *input, const Shape *output)
{
    Sliding sliding = sliding_over(window, input, output);
    CudaWindow result = {
        .rank = window->rank,
        .batch = sliding.batch,
        .channels = sliding.channels,
        .input = copy_steps(&sliding.input, window->rank),
        .output = copy_steps(&sliding.output, window->rank),
    };
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        bool is_there = dimension < window->rank;
        result.input_size[dimension] = is_there ? sliding.input_size[dimension] : 1;
        result.output_size[dimension] = is_there ? output->dims[window->space + dimension] : 1;
        result.size[dimension] = is_there ? window->size[dimension] : 1;
        result.stride[dimension] = is_there ? window->stride[dimension] : 1;
        result.dilation[dimension] = is_there ? window->dilation[dimension] : 1;
        result.before[dimension] = is_there ? window->before[dimension] : 0;
        result.after[dimension] = is_there ? window->after[dimension] : 0;
    }
    return result;
}

CudaFilter
operands_filter(const Convolution *convolution, const Shape *filter)
{
    FilterSteps steps = filter_steps(convolution, filter);
    CudaFilter result = {.group = steps.group, .output = steps.output, .input = steps.input};
    memcpy(result.space, steps.space, (size_t)convolution->window.rank * sizeof *steps.space);
    return result;
}
