/* The windows of convolutions and pools as kernels of the device take them.
 * Threads: any. */
#pragma once

#include "worker/cuda/kernels/window.h"
#include "worker/reference/sliding.h"

/* Returns the window that slides over an input of this shape; dimensions past its rank are 1. */
CudaWindow operands_window(const Window *window, const Shape *input, const Shape *output);
