/* Largest elements within windows of any number of dimensions over planes of float32, uint8 or int8 with the
 * channels first: all lines of the input under a line of the output are folded into one, which has the
 * padding around it, and that line is folded along the windows.
 *
 * Threads: any. */
#pragma once

#include "shared/ops/window.h"
#include "worker/runtime/kernel.h"

/* Returns whether max_lines_run() computes this pool: the dtype is one of the three, the channels come first
 * and a line fits. */
bool max_lines_can(const Window *window, const Tensor *input);

/* Computes the pool; `output` has the shape of the window's output. */
void max_lines_run(Device *device, const Window *window, const Tensor *input, void *output);
