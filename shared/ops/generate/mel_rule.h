/* ONNX's MelWeightMatrix: what shape rule and kernel both ask. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

enum { MEL_BINS, MEL_LENGTH, MEL_RATE, MEL_LOWER, MEL_UPPER };

/* Numbers are -1 while they are not known. */
typedef struct MelScale {
    int64_t bins;   /* triangles */
    int64_t length; /* of the transform, of whose spectrum one side is weighed */
    int64_t rate;   /* samples per second */
    Shape output;   /* [length / 2 + 1, bins] */
} MelScale;

/* INVALID_ARGUMENT for a number below 1. */
MUST_USE Status mel_scale_read(Call *call, const InferContext *context, MelScale *ret_scale);
