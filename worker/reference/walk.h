/* Visits elements of a tensor in row-major order of chosen dimensions. Threads: any; one walk, one thread. */
#pragma once

#include <stdbool.h>

#include "shared/tensor/shape.h"

typedef struct Walk {
    int rank;
    int64_t dims[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX];
    int64_t position[SHAPE_RANK_MAX];
    int64_t offset; /* the current element: Σ position × strides */
} Walk;

/* Moves to the next element. After the last one, returns false and starts again. */
static inline bool
walk_next(Walk *walk)
{
    for (int dimension = walk->rank - 1; dimension >= 0; dimension--) {
        walk->offset += walk->strides[dimension];
        if (++walk->position[dimension] < walk->dims[dimension]) {
            return true;
        }
        walk->offset -= walk->strides[dimension] * walk->dims[dimension];
        walk->position[dimension] = 0;
    }
    return false;
}

/* Returns a walk over an input that broadcasts to `result`, an element of it for each of the result's. */
static inline Walk
walk_broadcast(const Shape *input, const Shape *result)
{
    Walk walk = {.rank = result->rank};
    int64_t stride = 1;
    for (int dimension = result->rank - 1; dimension >= 0; dimension--) {
        int own = dimension - (result->rank - input->rank);
        int64_t size = own < 0 ? 1 : input->dims[own];
        walk.dims[dimension] = result->dims[dimension];
        walk.strides[dimension] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return walk;
}

/* Counts the elements that the walk visits. */
static inline int64_t
walk_count(const Walk *walk)
{
    int64_t count = 1;
    for (int dimension = 0; dimension < walk->rank; dimension++) {
        count *= walk->dims[dimension];
    }
    return count;
}
