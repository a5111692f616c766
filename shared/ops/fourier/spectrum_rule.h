/* The sizes of TensorFlow's Fourier transforms, of one to three last dimensions. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

enum { SPECTRUM_AXES_MAX = 3 };

typedef struct Spectrum {
    int axes;        /* last dimensions that are transformed */
    bool is_inverse; /* IFFT, IRFFT */
    bool
        is_real; /* RFFT, IRFFT: the signal is real, and half of the last dimension of its spectrum is told */
    int64_t lengths[SPECTRUM_AXES_MAX]; /* of the transforms; -1 while not known */
    Shape output;                       /* unknown while the input's is */
} Spectrum;

/* Reads the op's name, shapes and known values. INVALID_ARGUMENT when they do not fit. */
MUST_USE Status spectrum_read(Call *call, const InferContext *context, Spectrum *ret_spectrum);
