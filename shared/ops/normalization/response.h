/* What local response normalisation and its gradient share. */
#pragma once

#include "worker/runtime/kernel.h"

/* How many channels to each side count: attribute depth_radius, at most as many as there are.
 * INVALID_ARGUMENT when it is negative. */
MUST_USE Status response_radius(const KernelContext *context, int64_t channels, int64_t *ret_radius);
