/* Visits the places of a window over a tensor: what convolutions and pools have in common.
 * Threads: any. */
#pragma once

#include "shared/ops/convolution.h"
#include "worker/reference/walk.h"

/* Between neighbours in memory, in elements. */
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

/* Over the output's places of one batch and channel. */
Walk sliding_outputs(const Sliding *sliding);

/* Over the places of the window, which lie `steps[rank]` apart in something (a filter); NULL: nowhere. */
Walk sliding_window(const Sliding *sliding, const int64_t *steps);

/* The input element that a place of the window meets, or -1 when that is padding. */
static inline int64_t
sliding_offset(const Sliding *sliding, const Walk *output, const Walk *place)
{
    const Window *window = sliding->window;
    int64_t offset = 0;
    for (int index = 0; index < window->rank; index++) {
        const int64_t position = output->position[index] * window->stride[index] - window->before[index] +
                                 place->position[index] * window->dilation[index];
        if (position < 0 || position >= sliding->input_size[index]) {
            return -1;
        }
        offset += position * sliding->input.space[index];
    }
    return offset;
}

/* Between neighbours in a filter, in elements. */
typedef struct FilterSteps {
    int64_t group;
    int64_t output;
    int64_t input;
    int64_t space[WINDOW_RANK_MAX];
} FilterSteps;

FilterSteps filter_steps(const Convolution *convolution, const Shape *filter);

/* How many places of the window lie within the padded input. */
int64_t sliding_padded_count(const Sliding *sliding, const Walk *output);
