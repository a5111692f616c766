/* The order of elements, for ops that look for extremes or sort.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/tensor/dtype.h"
#include "shared/tensor/tensor.h"

/* Says whether element `left` of a line is beyond element `right`: larger or, if not `largest`, smaller. NaN
 * is beyond all numbers, as in NumPy's argmax. */
typedef bool (*IsBeyond)(const void *line, int64_t left, int64_t right, bool largest);

/* Returns the test for a dtype, NULL for one without an order. */
IsBeyond is_beyond_of(Dtype dtype);

/* Writes an element of an int32 or int64 tensor. */
void write_index(Tensor *tensor, int64_t position, int64_t index);
