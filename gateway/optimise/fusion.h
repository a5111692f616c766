/* Fuses what follows a convolution or a matrix product into one node with it: a bias, an addend of the
 * same shape, an activation, one step after another (TensorFlow's Remapper). The node of the last step
 * becomes the fused one and keeps its name; those in front are no longer needed.
 *
 * Threads: one.
 * Errors:  RESOURCE_EXHAUSTED. */
#pragma once

#include "gateway/optimise/linear.h"

/* Fuses every such step behind an op of this kind, if nothing else reads the op. */
MUST_USE Status fusion_run(Rewrite *rewrite, LinearKind kind);
