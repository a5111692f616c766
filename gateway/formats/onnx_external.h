/* TensorProto.external_data: where a tensor lies that is not in the model's file. Private to
 * gateway/formats. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef struct OnnxExternal {
    Slice location; /* a path relative to the model's folder, or "sha256:…" in a skeleton; "" before it is
                       read */
    uint64_t offset;
    uint64_t length;
    bool has_length;
} OnnxExternal;

/* Reads one entry, a StringStringEntryProto, into `external`. INVALID_ARGUMENT for a number that is none. */
MUST_USE Status onnx_external_entry(Call *call, Slice entry, OnnxExternal *external);
