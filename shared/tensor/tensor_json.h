/* Tensors in JSON, as the REST API has them (openapi: Tensor).
 *
 * In:  {"dtype","shape","data"} with data flat or nested in row-major order; without "shape" the nesting is
 *      the shape; {"dtype","shape","b64"}: the elements' bytes, little-endian,
 *      or a string scalar's; {"npy": base64}, alone or with
 *      the dtype and shape that it must have; a bare number, string, boolean or nested array when `expected`
 *      fixes the dtype, which an object may leave out too. NaN and infinities as strings; integers as numbers
 *      without fraction or as decimal strings, never through a double. A complex element is [real,
 * imaginary]. A string element that is no UTF-8 is {"b64": base64}. {"ref": "sha256:…"} is reported through
 * ret_ref as it stands, for the caller to resolve. Out: {"dtype","shape","data"} with data flat.
 *
 * Ownership: the tensor holds copies; *ret_ref points into the text or lives in call->arena, which strings
 *            with escapes pass through too.
 * Errors:    INVALID_ARGUMENT naming what was wrong and where; RESOURCE_EXHAUSTED above `byte_size_max`. The
 *            scanner has stopped then. */
#pragma once

#include "shared/json/scanner.h"
#include "shared/json/writer.h"
#include "shared/tensor/tensor.h"

typedef struct TensorJsonOptions {
    Dtype expected;       /* DTYPE_INVALID: the graph does not fix it */
    size_t byte_size_max; /* of one tensor */
} TensorJsonOptions;

/* Reads one value. It sets the tensor, or only *ret_ref: the tensor's dtype is DTYPE_INVALID then. */
MUST_USE Status tensor_json_read(
    Call *call, JsonScanner *scanner, TensorJsonOptions options, Tensor *ret_tensor, Slice *ret_ref);

/* Writes a tensor; resources and variants have no elements in JSON. The writer's Buffer may fail. */
void tensor_json_write(JsonWriter *writer, const Tensor *tensor);

/* Write the same piece by piece: the beginning, which needs no data; elements as they lie in memory, whole
 * ones, as often as there are some; the end. The size of an element is that of its place in memory, which of
 * a string is its Slice; 0: elements of this dtype are not written. */
void tensor_json_write_begin(JsonWriter *writer, const Tensor *described);
size_t tensor_json_element_size(Dtype dtype);
void tensor_json_write_elements(JsonWriter *writer, Dtype dtype, Slice elements);
void tensor_json_write_end(JsonWriter *writer);
