/* The triangular filters of ONNX's MelWeightMatrix: the corners of a band are the spectrum's bins that are
 * nearest below frequencies with the same distance in mel. Threads: any. */
#pragma once

#include "worker/runtime/kernel.h"

typedef struct MelFilters {
    int64_t rows;   /* bins of the spectrum */
    int64_t bands;  /* triangles, each with a column of weights */
    int64_t length; /* of the transform */
    int64_t rate;   /* samples per second */
    double lowest;  /* mel */
    double step;    /* mel, from one corner to the next */
} MelFilters;

/* Reads the inputs, which are on the host. INVALID_ARGUMENT unless every corner but the last lies within the
 * spectrum. */
MUST_USE Status mel_filters_read(KernelContext *context, MelFilters *ret_filters);

/* Returns the bin of a corner. Those of a band, its low end, its top and its high end, have its number and
 * the next two. */
int64_t mel_corner(const MelFilters *filters, int64_t corner);
