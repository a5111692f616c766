/* Discrete Fourier transforms of many lines of one length, in double: X[k] = Σ x[n]·e^(-2πi·kn/N). Valid C11
 * and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_FOURIER_FACTORS_MAX = 64 };

typedef struct CudaNumber {
    double real;
    double imaginary;
} CudaNumber;

/* The place of a line's numbers, in elements: line l begins at l / split × outer + l % split × inner. */
typedef struct CudaStrand {
    int64_t split;
    int64_t outer;
    int64_t inner;
    int64_t stride; /* from one number to the next */
    int64_t count;  /* numbers; what a transform needs beyond is 0 */
    bool is_complex;
} CudaStrand;

/* A length with a prime above 13 is written as a convolution of a length that is a power of two (Bluestein):
 * its other operand is one more line, transformed with the others. */
typedef struct CudaFourier {
    const void *input;
    const void *window; /* what numbers are multiplied by, of the input's type; NULL: nothing */
    void *output;
    CudaStrand from;
    CudaStrand to;
    int64_t lines;
    int64_t length;
    int64_t bins; /* with `is_mirrored`: numbers that are read, of which the others are mirrors */
    bool is_inverse;
    bool is_mirrored;
    bool is_convolution;
    int64_t size; /* of the transforms: `length`, or that of the convolution */
    uint8_t factors[CUDA_FOURIER_FACTORS_MAX];
    int factor_count;
    CudaNumber *turns;    /* [size]: e^(-2πi·k/size) */
    CudaNumber *chirps;   /* convolution: [length]: e^(-πi·n²/length) */
    CudaNumber *rooms[2]; /* [lines, size] each, and a line more for a convolution */
} CudaFourier;

/* Floating types. `length` is at most 2^30. */
int cuda_fourier(CudaType type, const CudaFourier *fourier, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
