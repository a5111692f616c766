/* Slices of tensors: begin, step and count in each dimension, and the shape that is left. One form for
 * TensorFlow's Slice and StridedSlice and for ONNX's Slice.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct Slicing {
    bool is_known; /* whether the values that bound the slice are known; otherwise only the output's rank
                    * may be */
    int rank;      /* rank of the input; the arrays below have an entry for each of its dimensions */
    int64_t begin[SHAPE_RANK_MAX];
    int64_t step[SHAPE_RANK_MAX]; /* never 0 */
    int64_t size[SHAPE_RANK_MAX]; /* elements taken; -1 when the dimension is unknown */
    Shape output;                 /* without the dropped dimensions, with the new ones */
} Slicing;

/* Reads Slice(input, begin, size); a size of -1 takes all that is left. INVALID_ARGUMENT when the slice is
 * not inside. */
MUST_USE Status slicing_plain(Call *call, const InferContext *context, Slicing *ret_slicing);

/* Reads StridedSlice(input, begin, end, strides) with its five masks, in which bit i is for entry i of the
 * values. */
MUST_USE Status slicing_strided(Call *call, const InferContext *context, Slicing *ret_slicing);

/* Reads onnx::Slice(data, starts, ends, axes?, steps?); bounds outside the input are clamped. */
MUST_USE Status slicing_onnx(Call *call, const InferContext *context, Slicing *ret_slicing);
