/* Discrete Fourier transforms of one length, in double: X[k] = Σ x[n]·e^(-2πi·kn/N).
 *
 * A length is cut into its prime factors (Cooley and Tukey); one with a prime above 13 is written as a
 * convolution of a length that is a power of two (Bluestein), so that every length costs about N·log N.
 *
 * Ownership: transform_done() frees what transform_new() took, also after it failed.
 * Threads:   a made transform is immutable; each caller brings its own room.
 * Errors:    RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

typedef struct Complex {
    double real;
    double imaginary;
} Complex;

enum { TRANSFORM_FACTORS_MAX = 64 };

/* The transform of a length whose prime factors are small. */
typedef struct Stages {
    int64_t length;
    int64_t factors[TRANSFORM_FACTORS_MAX];
    const Complex *turns; /* e^(-2πi·k/length) */
} Stages;

typedef struct Transform {
    int64_t length;
    Stages stages;          /* of `length`, or of the convolution's length */
    const Complex *chirp;   /* e^(-πi·n²/length); NULL: no convolution */
    const Complex *mirrors; /* the convolution's other operand, transformed */
    int64_t room_size;      /* numbers that a caller's room has */
    Tensor memory;
} Transform;

MUST_USE Status transform_new(KernelContext *context, int64_t length, Transform *ret_transform);
void transform_done(Transform *transform);
#define AUTO_TRANSFORM CLEANUP(transform_done) Transform

/* Transforms `length` numbers. `to` and `room` share no memory with `from`. */
void transform_run(const Transform *transform, const Complex *from, Complex *to, Complex *room);
