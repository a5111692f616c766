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
