/* Reads the head of a .safetensors file: which tensors lie where in it. The file is 8 bytes with the length
 * of a JSON text (little-endian), the text, and behind it the tensors' bytes, which fill the rest of the file
 * without gaps. Source: "Format" in the README of huggingface/safetensors.
 *
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key": "value"}}
 *
 * Ownership: what is read lies in call->arena.
 * Threads:   one at a time.
 * Errors:    INVALID_ARGUMENT, naming file and tensor, for a head that breaks these rules; OUT_OF_RANGE for
 *            one of more than SAFETENSORS_HEAD_SIZE_MAX bytes. A tensor of a type that we have not is refused
 *            when it is asked for. */
#pragma once

#include "gateway/formats/skeleton.h"
#include "shared/tensor/tensor.h"

enum { SAFETENSORS_HEAD_SIZE_MAX = 16 << 20 };

typedef struct SafeTensor {
    Slice name;
    Slice type;  /* as the file has it: "F32" */
    Dtype dtype; /* DTYPE_INVALID: we have not that type */
    Shape shape;
    ByteSpan span;
} SafeTensor;

struct SafeTensors {
    const SafeTensor *items; /* in the order of their names */
    size_t count;
};

/* `name` is the file's, for messages. */
MUST_USE Status safetensors_read(Call *call, Slice name, ByteSpan file, SafeTensors *ret_tensors);

/* Reads those of a model's files whose names end in ".safetensors"; the first file, the model, is none. */
MUST_USE Status safetensors_open(Call *call, SkeletonFile *files, size_t count, bool *ret_has_some);

/* Finds a tensor in the model's files. *ret_tensor is NULL when none has it. INVALID_ARGUMENT: two have. */
MUST_USE Status safetensors_find(Call *call, const SkeletonRequest *request, Slice name,
    const SafeTensor **ret_tensor, const SkeletonFile **ret_file);

/* Fails unless the tensor has this type. */
MUST_USE Status safetensors_check(Call *call, const SafeTensor *tensor, Dtype dtype);
