/* What follows a convolution or a matrix product goes into one node with it: a bias, an addend of the same
 * shape, an activation, one step after the other (TensorFlow's Remapper). The step's node becomes the fused
 * one and keeps its name; the node in front is no longer needed.
 *
 * Threads: one. Errors: RESOURCE_EXHAUSTED. */
#pragma once

#include "gateway/optimise/linear.h"

/* Every step behind ops of the kind that nobody else reads. */
MUST_USE Status fusion_run(Rewrite *rewrite, LinearKind kind);
