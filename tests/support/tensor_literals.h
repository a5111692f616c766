/* Tensors written down in a test: "float32[2,3] 1 2 3 4 5 6", "bool[] 1", "int8[0]". A "…" after a value
 * repeats it up to the end; "numbers 7" are from -3 to 3, whole ones of integers, without an order, but the
 * same for the same 7 (of unsigned integers, from 0 to 6). Floats may be nan, inf, -inf; a complex
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

/* Returns whether dtype and shape are the same and ‖actual - expected‖ ≤ tolerance × ‖expected‖. What is not
 * finite is the same in both; so are integers. Prints the distance. */
bool tensor_is_close(const Tensor *actual, const Tensor *expected, double tolerance);

/* Returns the distance that sums of some hundred products have for their dtype's precision, when only their
 * order differs. */
double tensor_distance_max(Dtype dtype);
