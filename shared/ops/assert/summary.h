/* Tensors as text for people, in the words of TensorFlow's Tensor::SummarizeValue(): "[[0 1 2][3...]]...".
 * Threads: any. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/tensor/tensor.h"

/* Appends at most `entries` elements, all when negative; "..." stands for those left out. */
void summary_append(Buffer *buffer, const Tensor *tensor, int64_t entries);
