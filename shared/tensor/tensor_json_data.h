/* Elements of a tensor out of JSON: numbers, booleans or strings in arrays of any depth; part of
 * tensor_json.h. */
#pragma once

#include "shared/json/scanner.h"
#include "shared/tensor/tensor.h"

/* Reads one value. `expected_count` is how many elements there should be (the memory is taken at once then),
 * or -1. The tensor has the shape of the nesting: [] for a bare value.
 * INVALID_ARGUMENT when the arrays are ragged or an element is none of `dtype`. */
MUST_USE Status tensor_json_data_read(Call *call, JsonScanner *scanner, Dtype dtype, int64_t expected_count,
    size_t byte_size_max, Tensor *ret_tensor);

/* Reads {"b64": "…"}: bytes of a string element that is no UTF-8. They live in call->arena. */
MUST_USE bool tensor_json_bytes_read(Call *call, JsonScanner *scanner, Slice *ret_bytes);
