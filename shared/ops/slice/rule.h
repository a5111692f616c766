/* Slices of tensors: where they begin, how they step, how many they take, and what shape is left. One form
 * for TensorFlow's Slice and StridedSlice and for ONNX's Slice.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct Slicing {
    bool is_known; /* the values that say what to take are; else only the output's rank may be */
    int rank;      /* of the input; for each of its dimensions: */
    int64_t begin[SHAPE_RANK_MAX];
    int64_t step[SHAPE_RANK_MAX]; /* not 0 */
    int64_t size[SHAPE_RANK_MAX]; /* elements taken; -1 when the dimension is unknown */
    Shape output;                 /* without dropped dimensions, with new ones */
} Slicing;

/* Slice(input, begin, size): size -1 is all that is left. INVALID_ARGUMENT when the slice is not inside. */
MUST_USE Status slicing_plain(Call *call, const InferContext *context, Slicing *ret_slicing);

/* StridedSlice(input, begin, end, strides) with its five masks, bit i for entry i of the values. */
MUST_USE Status slicing_strided(Call *call, const InferContext *context, Slicing *ret_slicing);

/* onnx::Slice(data, starts, ends, axes?, steps?): what is outside is clamped. */
MUST_USE Status slicing_onnx(Call *call, const InferContext *context, Slicing *ret_slicing);
