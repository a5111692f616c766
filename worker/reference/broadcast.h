/* Walks tensors that broadcast against each other (NumPy's rules) and hands runs of elements to a loop that
 * is written for one dtype.
 * Threads: any; the caller owns the tensors. */
#pragma once

#include "worker/runtime/device.h"
#include "worker/runtime/element.h"

/* Every input must broadcast to the output's shape. The output may be one of the inputs of its shape. */
void broadcast_run(
    const Tensor *const *inputs, int input_count, Tensor *output, const float *parameters, ElementLoop loop);

/* Does the same on all threads of the device, in parts that depend on the shapes alone. */
void broadcast_share(Device *device, const Tensor *const *inputs, int input_count, Tensor *output,
    const float *parameters, ElementLoop loop);
