/* The attributes that local response normalisation and its gradient share. */
#pragma once

#include "worker/runtime/kernel.h"

/* Returns the number of channels that count on each side: the attribute depth_radius, at most the number
 * of channels. INVALID_ARGUMENT when it is negative. */
MUST_USE Status response_radius(const KernelContext *context, int64_t channels, int64_t *ret_radius);
