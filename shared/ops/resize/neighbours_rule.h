/* The weighted neighbours of the elements that a dimension is resized to.
 *
 * Threads: any.
 * Errors:  RESOURCE_EXHAUSTED. */
#pragma once

#include "shared/ops/resize/rule.h"

/* The neighbours of each element along one dimension: `count` of them, the first of which is
 * `firsts[element]`, perhaps outside, where the border's element stands. */
typedef struct ResizeNeighbours {
    int64_t count;
    int64_t *firsts;
    double *weights;  /* count for each element */
    bool *is_outside; /* of a crop: the element is the extrapolation value */
} ResizeNeighbours;

/* Finds the neighbours along a dimension with `input` elements, in the call's arena. */
MUST_USE Status resize_neighbours(Call *call, const ResizePlan *plan, const ResizeFilter *filter,
    int64_t input, int dimension, ResizeNeighbours *ret_neighbours);

/* Returns the element that stands at `index`, which may be outside of the input. */
static inline int64_t
neighbour_inside(int64_t index, int64_t size)
{
    return index < 0 ? 0 : index >= size ? size - 1 : index;
}
