/* Visits the positions of a window over a tensor: the common part of convolutions and pools.
 * Threads: any. */
#pragma once

#include "shared/ops/convolution.h"
#include "worker/reference/walk.h"

/* Distances between neighbours in memory, in elements. */
typedef struct Steps {
    int64_t batch;
    int64_t channel;
    int64_t space[WINDOW_RANK_MAX];
} Steps;

typedef struct Sliding {
    const Window *window;
    int64_t batch;
    int64_t channels; /* of the output */
    int64_t input_size[WINDOW_RANK_MAX];
    Steps input;
    Steps output;
} Sliding;

Sliding sliding_over(const Window *window, const Shape *input, const Shape *output);

/* Walks the output's positions within one batch and channel. */
Walk sliding_outputs(const Sliding *sliding);

/* Walks the elements of the window, which are `steps[rank]` apart in a filter; NULL: there is no filter. */
Walk sliding_window(const Sliding *sliding, const int64_t *steps);

/* Returns the offset of the input element under an element of the window, or -1 when that is padding. */
static inline int64_t
sliding_offset(const Sliding *sliding, const Walk *output, const Walk *element)
{
    const Window *window = sliding->window;
    int64_t offset = 0;
    for (int index = 0; index < window->rank; index++) {
        int64_t position = output->position[index] * window->stride[index] - window->before[index] +
                           element->position[index] * window->dilation[index];
        if (position < 0 || position >= sliding->input_size[index]) {
            return -1;
        }
        offset += position * sliding->input.space[index];
    }
    return offset;
}

/* Narrows the window at a position of the output to the elements that lie within the input, or to one that
 * does not when none does: a window may be as large as a number can say, while its input is small.
 * `ret_window`, which sliding_offset() takes with `element`, begins at the first of them. */
void sliding_narrow(const Sliding *sliding, const Walk *output, Window *ret_window, Walk *element);

/* Distances between neighbours in a filter, in elements. */
typedef struct FilterSteps {
    int64_t group;
    int64_t output;
    int64_t input;
    int64_t space[WINDOW_RANK_MAX];
} FilterSteps;

FilterSteps filter_steps(const Convolution *convolution, const Shape *filter);

/* Counts the elements of the window that lie within the padded input. */
int64_t sliding_padded_count(const Sliding *sliding, const Walk *output);
