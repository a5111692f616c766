/* Element types of ONNX and TensorFlow that are known by name and not computed with: floats of 8 bits and
 * fewer, integers of 2 and 4 bits, TensorFlow's quantised ones. A graph that has one is refused with its
 * name. Sources: onnx.proto of ONNX 1.22; types.proto of TensorFlow 2.21.
 *
 * Threads: pure functions. */
#pragma once

#include <stdint.h>

#include "shared/base/slice.h"

/* Return "FLOAT8E4M3FN" or "DT_FLOAT8_E4M3FN"; NULL when the number is none of theirs. Numbers of references
 * (TensorFlow's, 100 higher) are those of what they refer to. */
const char *foreign_dtype_onnx(int64_t number);
const char *foreign_dtype_tensorflow(int64_t number);

/* Returns TensorFlow's number for "DT_FLOAT8_E4M3FN" or "DT_FLOAT8_E4M3FN_REF"; 0: it is none of theirs. */
uint8_t foreign_dtype_from_tensorflow_name(Slice name);
