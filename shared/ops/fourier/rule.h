/* The sizes of ONNX's DFT and STFT, which shape rules and kernels read alike. Complex numbers are pairs in
 * the last dimension, real ones are alone there. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

enum { DFT_INPUT, DFT_LENGTH, DFT_AXIS };
enum { STFT_SIGNAL, STFT_STEP, STFT_WINDOW, STFT_LENGTH };

/* Sizes are -1 while they are not known, and so is the axis. */
typedef struct Fourier {
    int axis;
    int64_t length; /* of a transform: numbers of the signal, filled up with zeros */
    int64_t step;   /* STFT: from one frame to the next */
    int64_t bins;   /* of the spectrum that are read or written: length, or length / 2 + 1 of one side */
    bool is_inverse;
    bool is_onesided;
    Shape output;
} Fourier;

/* Read attributes, shapes and known values. INVALID_ARGUMENT when they do not fit. */
MUST_USE Status dft_read(Call *call, const InferContext *context, Fourier *ret_fourier);
MUST_USE Status stft_read(Call *call, const InferContext *context, Fourier *ret_fourier);
