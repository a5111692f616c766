/* Convolutions of bytes: the input is turned so that its channels come last (byte_image.h), positions of the
 * output are multiplied by panels of output channels (byte_microkernel.h), and the sums are scaled and turned
 * back. Sums are exact, modulo 2³².
 *
 * Threads: byte_convolve_run() on any thread, several at once.
 * Errors:  RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/cpu/convolve/byte_filter.h"
#include "worker/cpu/convolve/byte_image.h"
#include "worker/reference/requantize.h"
#include "worker/runtime/kernel.h"

/* Arrays of lanes have a number for each output channel of each group, and for those that fill up its last
 * vector. */
typedef struct ByteConvolve {
    ByteImage image;
    ByteFilterShape shape;
    int64_t batch;
    int64_t positions; /* of the output in one channel */
    const Tensor *input;
    const int8_t *panels; /* of the filter */
    const int32_t *start; /* of the sums, in lanes */
    const int32_t *zeros; /* of the filter's bytes, in lanes; NULL: all are 0 */
    const float *scales;  /* of the sums, in lanes; NULL: the sums are the output */
    Requantizer to;
    void *output;
} ByteConvolve;

MUST_USE Status byte_convolve_run(KernelContext *context, const ByteConvolve *convolve);
