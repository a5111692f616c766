/* Tensors of one value. Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

void fill_zero(Tensor *tensor);

/* Fills with a small integer in the tensor's dtype, which is copyable. */
void fill_number(Tensor *tensor, int number);

/* Fills with copies of an element of the tensor's dtype. */
void fill_element(Tensor *tensor, const void *element);
