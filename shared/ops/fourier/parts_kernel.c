/* Complex numbers taken apart and put together: each element alone, in its own precision. */
#include <complex.h>
#include <math.h>

#include "worker/reference/broadcast.h"
#include "worker/reference/outputs.h"

/* Makes a loop from complex numbers `z`. */
#define PART_LOOP(name, from, to, value)                                                                     \
    static void name(const ElementRun *run)                                                                  \
    {                                                                                                        \
        const from *x = run->inputs[0];                                                                      \
        to *out = run->output;                                                                               \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            from z = x[n * run->strides[0]];                                                                 \
            out[n] = (value);                                                                                \
        }                                                                                                    \
    }

/* A complex number is laid out as an array of its two parts (C11 6.2.5). */
#define PAIR_LOOP(name, type)                                                                                \
    static void name(const ElementRun *run)                                                                  \
    {                                                                                                        \
        const type *x = run->inputs[0];                                                                      \
        const type *y = run->inputs[1];                                                                      \
        type *out = run->output;                                                                             \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            out[2 * n] = x[n * run->strides[0]];                                                             \
            out[2 * n + 1] = y[n * run->strides[1]];                                                         \
        }                                                                                                    \
    }

PART_LOOP(real_single, float complex, float, crealf(z))
PART_LOOP(real_double, double complex, double, creal(z))
PART_LOOP(imaginary_single, float complex, float, cimagf(z))
PART_LOOP(imaginary_double, double complex, double, cimag(z))
PART_LOOP(size_single, float complex, float, hypotf(crealf(z), cimagf(z)))
PART_LOOP(size_double, double complex, double, hypot(creal(z), cimag(z)))
PART_LOOP(angle_single, float complex, float, atan2f(cimagf(z), crealf(z)))
PART_LOOP(angle_double, double complex, double, atan2(cimag(z), creal(z)))
PART_LOOP(conjugate_single, float complex, float complex, conjf(z))
PART_LOOP(conjugate_double, double complex, double complex, conj(z))
PAIR_LOOP(pair_single, float)
PAIR_LOOP(pair_double, double)

static bool
is_double(Dtype dtype)
{
    return dtype == DTYPE_COMPLEX128 || dtype == DTYPE_FLOAT64;
}

static Status
compute_parts(KernelContext *context, ElementLoop of_single, ElementLoop of_double)
{
    const Tensor *inputs[] = {&context->inputs[0], &context->inputs[context->node->input_count - 1]};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    broadcast_share(context->device, inputs, (int)context->node->input_count, output, NULL,
        is_double(context->inputs[0].dtype) ? of_double : of_single);
    return STATUS_OK;
}

#define PART(name)                                                                                           \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute_parts(context, name##_single, name##_double);                                         \
    }

PART(real)
PART(imaginary)
PART(size)
PART(angle)
PART(conjugate)
PART(pair)

static bool
part_supports(const Node *node)
{
    Dtype from = node->input_dtypes[0];
    Dtype to = node->output_dtypes[0];
    return (from == DTYPE_COMPLEX64 && to == DTYPE_FLOAT32) ||
           (from == DTYPE_COMPLEX128 && to == DTYPE_FLOAT64);
}

static bool
conjugate_supports(const Node *node)
{
    return dtype_is_complex(node->input_dtypes[0]);
}

static bool
pair_supports(const Node *node)
{
    Dtype from = node->input_dtypes[0];
    Dtype to = node->output_dtypes[0];
    return (from == DTYPE_FLOAT32 && to == DTYPE_COMPLEX64) ||
           (from == DTYPE_FLOAT64 && to == DTYPE_COMPLEX128);
}

static const Kernel parts_kernels[] = {
    {.op = "Real", .supports = part_supports, .compute = real_compute},
    {.op = "Imag", .supports = part_supports, .compute = imaginary_compute},
    {.op = "ComplexAbs", .supports = part_supports, .compute = size_compute},
    {.op = "Angle", .supports = part_supports, .compute = angle_compute},
    {.op = "Conj", .supports = conjugate_supports, .compute = conjugate_compute},
    {.op = "Complex", .supports = pair_supports, .compute = pair_compute},
};

KERNEL_FAMILY(reference, fourier_parts, parts_kernels);
