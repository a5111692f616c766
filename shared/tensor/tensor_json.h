/* Tensors in JSON, as the REST API has them (openapi: Tensor).
 *
 * In:  {"dtype","shape","data"} with data flat or nested in row-major order; {"dtype","shape","b64"};
 *      {"npy": base64}; a bare number, string, boolean or nested array when `expected` fixes the dtype.
 *      NaN and infinities as strings. int64 never passes through a double. {"ref": "sha256:…"} is reported
 *      through ret_ref, for the caller to resolve.
 * Out: {"dtype","shape","data"} with data flat.
 *
 * Errors: INVALID_ARGUMENT naming what was wrong and where; RESOURCE_EXHAUSTED above `byte_size_max`. */
#pragma once

#include "shared/json/scanner.h"
#include "shared/json/writer.h"
#include "shared/tensor/tensor.h"

typedef struct TensorJsonOptions {
    Dtype expected;       /* DTYPE_INVALID when the graph does not fix it */
    size_t byte_size_max; /* of one tensor */
} TensorJsonOptions;

MUST_USE Status tensor_json_read(
    Call *call, JsonScanner *scanner, TensorJsonOptions options, Tensor *ret_tensor, Slice *ret_ref);
void tensor_json_write(JsonWriter *writer, const Tensor *tensor);
