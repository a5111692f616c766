/* The attributes that local response normalisation and its gradient share.
 * Threads: pure functions. */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph.h"

/* Returns the number of channels that count on each side: the attribute depth_radius, at most the number
 * of channels. INVALID_ARGUMENT when it is negative. */
MUST_USE Status response_radius(Call *call, const Node *node, int64_t channels, int64_t *ret_radius);
