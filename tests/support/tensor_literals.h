/* Tensors written down in a test: "float32[2,3] 1 2 3 4 5 6", "bool[] 1", "int8[0]". A "…" after a value
 * repeats it up to the end. Floats may be nan, inf, -inf; a complex
 * number is two words. Strings are quoted: "string[2] 'a' 'b c'". */
#pragma once

#include "shared/tensor/tensor.h"

/* Reads a tensor; a text that breaks the form fails the test. */
Tensor tensor_literal(const char *text);

/* Returns whether dtype and shape are the same and each |actual - expected| ≤ tolerance × (1 +
 * |expected|); NaN equals NaN. Prints the first difference. */
bool tensor_is_near(const Tensor *actual, const Tensor *expected, double tolerance);

/* Returns the tolerance that the dtype's precision needs for a few operations. */
double tensor_tolerance(Dtype dtype);
