/* Tensors as text for people, in the words of TensorFlow's Tensor::SummarizeValue(): "[[0 1 2][3...]]...".
 * Threads: any. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/tensor/tensor.h"

/* At most `entries` elements, all when negative; "..." where some are left out. */
void summary_append(Buffer *buffer, const Tensor *tensor, int64_t entries);
