/* The files beside an ONNX model, in which tensors with external data lie.
 *
 * Ownership: names live in the call's arena.
 * Errors:    INVALID_ARGUMENT for a damaged model, and for a name that leads out of the model's folder;
 *            OUT_OF_RANGE above ONNX_FILES_MAX. */
#pragma once

#include "gateway/formats/byte_source.h"

enum { ONNX_FILES_MAX = 4096 };

typedef struct OnnxFiles {
    const Slice *names; /* relative to the model's folder, each once, in the order in which they appear */
    size_t count;
} OnnxFiles;

/* Reads the model's structure alone, not its tensors' elements. */
MUST_USE Status onnx_files(Call *call, const ByteSource *model, OnnxFiles *ret_files);
