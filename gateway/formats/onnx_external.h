/* TensorProto.external_data: where a tensor lies that is not in the model's file. Private to
 * gateway/formats. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

/* Fields of TensorProto, and the value of data_location that says that the data is external. */
enum {
    ONNX_TENSOR_EXTERNAL = 13,
    ONNX_TENSOR_LOCATION = 14,
    ONNX_EXTERNAL = 1,
    ONNX_EXTERNAL_ENTRY_SIZE_MAX = 1 << 16,
};

typedef struct OnnxExternal {
    Slice location; /* a path relative to the model's folder, or "sha256:…" in a skeleton; "" before it is
                       read */
    uint64_t offset;
    uint64_t length;
    bool has_offset;
    bool has_length;
} OnnxExternal;

/* Reads one entry, a StringStringEntryProto, into `external`. INVALID_ARGUMENT for a number that is none. */
MUST_USE Status onnx_external_entry(Call *call, Slice entry, OnnxExternal *external);

/* Returns true for locations that stay in the model's folder. */
bool onnx_external_is_inside(Slice location);
