/* float32 convolutions whose window is the whole input, as those between pooled channels: each image is a row
 * of a product with the filter (product/product.h). Their sums are the chains of planes.h.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/convolve/shape.h"
#include "worker/cpu/product/product.h"

/* Returns whether a convolution is such a product: the channels come first, there is one group and no
 * padding, and the filter of each output lies in the order of the input. */
bool dense_can(const ConvolveShape *shape);

ProductShape dense_shape(const ConvolveShape *shape);
ProductOperands dense_operands(const ConvolveOperands *operands);
