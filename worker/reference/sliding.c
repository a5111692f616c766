#include "worker/reference/sliding.h"

#include <assert.h>

#include "worker/reference/strided_copy.h"

static Steps
read_steps(const Window *window, const Shape *shape)
{
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(shape, strides);
    Steps steps = {.batch = strides[window->batch], .channel = strides[window->channel]};
    memcpy(steps.space, &strides[window->space], (size_t)window->rank * sizeof strides[0]);
    return steps;
}

Sliding
sliding_over(const Window *window, const Shape *input, const Shape *output)
{
    assert(window->rank <= WINDOW_RANK_MAX && input->rank == output->rank);
    Sliding sliding = {
        .window = window,
        .batch = output->dims[window->batch],
        .channels = output->dims[window->channel],
        .input = read_steps(window, input),
        .output = read_steps(window, output),
    };
    memcpy(sliding.input_size, &input->dims[window->space], (size_t)window->rank * sizeof(int64_t));
    return sliding;
}

Walk
sliding_outputs(const Sliding *sliding)
{
    const Window *window = sliding->window;
    Walk walk = {.rank = window->rank};
    memcpy(walk.dims, window->output, sizeof window->output);
    memcpy(walk.strides, sliding->output.space, sizeof sliding->output.space);
    return walk;
}

Walk
sliding_window(const Sliding *sliding, const int64_t *steps)
{
    const Window *window = sliding->window;
    Walk walk = {.rank = window->rank};
    memcpy(walk.dims, window->size, sizeof window->size);
    if (steps != NULL) {
        memcpy(walk.strides, steps, (size_t)window->rank * sizeof *steps);
    }
    return walk;
}

/* Returns how many elements of the window lie before a position `end`, counted from where the window begins.
 */
static int64_t
elements_before(const Window *window, int index, int64_t end)
{
    int64_t count = end <= 0 ? 0 : (end - 1) / window->dilation[index] + 1;
    return count < window->size[index] ? count : window->size[index];
}

static int64_t
window_begin(const Window *window, const Walk *output, int index)
{
    return output->position[index] * window->stride[index] - window->before[index];
}

int64_t
sliding_padded_count(const Sliding *sliding, const Walk *output)
{
    const Window *window = sliding->window;
    int64_t count = 1;
    for (int index = 0; index < window->rank; index++) {
        int64_t end = sliding->input_size[index] + window->after[index];
        count *= elements_before(window, index, end - window_begin(window, output, index));
    }
    return count;
}

void
sliding_narrow(const Sliding *sliding, const Walk *output, Window *ret_window, Walk *element)
{
    const Window *window = sliding->window;
    bool is_outside = false;
    *ret_window = *window;
    for (int index = 0; index < window->rank; index++) {
        int64_t begin = window_begin(window, output, index);
        int64_t first = elements_before(window, index, -begin);
        int64_t end = elements_before(window, index, sliding->input_size[index] - begin);
        bool is_any = first < end;
        ret_window->before[index] -= is_any ? first * window->dilation[index] : 0;
        element->dims[index] = is_any ? end - first : 1;
        is_outside = is_outside || !is_any;
    }
    for (int index = 0; index < window->rank && is_outside; index++) {
        element->dims[index] =
            1; /* where the window misses the input in one dimension, the others may be huge */
    }
}

FilterSteps
filter_steps(const Convolution *convolution, const Shape *filter)
{
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(filter, strides);
    const FilterLayout *layout = &convolution->filter;
    FilterSteps steps = {
        .group =
            layout->is_depthwise ? strides[layout->input] : convolution->outputs * strides[layout->output],
        .output = strides[layout->output],
        .input = layout->is_depthwise ? 0 : strides[layout->input],
    };
    memcpy(steps.space, &strides[layout->space], (size_t)convolution->window.rank * sizeof strides[0]);
    return steps;
}
