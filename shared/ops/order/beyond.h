/* The order of elements, for ops that look for extremes or sort.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/tensor/dtype.h"
#include "shared/tensor/tensor.h"

/* Says whether element `left` of a line is beyond element `right`: larger or, if not `largest`, smaller. */
typedef bool (*IsBeyond)(const void *line, int64_t left, int64_t right, bool largest);

/* The place of NaN among the numbers. */
typedef enum NanPlace {
    NAN_BEYOND,  /* all numbers, in either direction: NumPy's argmax and argmin, which ONNX follows */
    NAN_LARGEST, /* NumPy's sort */
    NAN_BEHIND,  /* TensorFlow's ArgMax: no better than the finite number that it begins with, as is -infinity
                  */
    NAN_PLACES,
} NanPlace;

/* Returns the test for a dtype, NULL for one without an order. */
IsBeyond is_beyond_of(Dtype dtype, NanPlace place);

/* Writes an element of an int32 or int64 tensor. */
void write_index(Tensor *tensor, int64_t position, int64_t index);
