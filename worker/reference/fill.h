/* Tensors of one value. Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

void fill_zero(Tensor *tensor);

/* A small integer in the tensor's dtype (copyable ones). */
void fill_number(Tensor *tensor, int number);

/* Copies of an element of the tensor's dtype. */
void fill_element(Tensor *tensor, const void *element);
