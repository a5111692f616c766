/* The windows of convolutions and pools, and filters, as kernels of the device take them.
 * Threads: any. */
#pragma once

#include "worker/cuda/kernels/filter.h"
#include "worker/reference/sliding.h"

/* Returns the window that slides over an input of this shape; dimensions past its rank are 1. */
CudaWindow operands_window(const Window *window, const Shape *input, const Shape *output);

/* Returns the steps of a filter of this shape. */
CudaFilter operands_filter(const Convolution *convolution, const Shape *filter);
