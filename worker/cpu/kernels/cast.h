#pragma once

#include "worker/runtime/kernel.h"

/* Converts all elements between float32 and a float of 16 bits, on the device's threads; both tensors have
 * one shape. */
void cast_share(Device *device, const Tensor *input, Tensor *output);
