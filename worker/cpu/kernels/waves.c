/* Sine and cosine of float32, many at a time, as functions.h states them. A block in which an angle is too
 * large for that is computed one by one, the large ones in double: an element's bits do not depend on its
 * neighbours. */
#include "worker/cpu/vector/loops.h"

enum { BLOCK = 256 };

/* NaN is not near. */
VECTOR_FUNCTION bool
are_near(const float *x, int64_t count)
{
    int32_t far = 0;
    _Pragma("omp simd reduction(|:far)") for (int64_t n = 0; n < count; n++)
    {
        far |= fabsf(x[n]) <= ANGLE_MAX ? 0 : 1;
    }
    return far == 0;
}

#define WAVE_BLOCK(name, near, far)                                                                          \
    VECTOR_FUNCTION void name##_block(const float *x, int64_t step, int64_t count, float *z)                 \
    {                                                                                                        \
        if (step == 1 && are_near(x, count)) {                                                               \
            VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                  \
            {                                                                                                \
                z[n] = near(x[n]);                                                                           \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t n = 0; n < count; n++) {                                                                \
            float a = x[n * step];                                                                           \
            z[n] = fabsf(a) <= ANGLE_MAX ? near(a) : (float)far((double)a);                                  \
        }                                                                                                    \
    }

#define WAVE(name, near, far)                                                                                \
    WAVE_BLOCK(name, near, far)                                                                              \
    VECTOR_FUNCTION void name##_body(const ElementRun *run)                                                  \
    {                                                                                                        \
        const float *x = run->inputs[0];                                                                     \
        float *z = run->output;                                                                              \
        int64_t step = run->strides[0];                                                                      \
        for (int64_t first = 0; first < run->count; first += BLOCK) {                                        \
            int64_t count = run->count - first < BLOCK ? run->count - first : BLOCK;                         \
            name##_block(x + first * step, step, count, z + first);                                          \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_ELEMENT_LOOP(name, 1)                                                                             \
    ELEMENTWISE(name, 0, NULL, NULL)

WAVE(sine, sine_of, sin)
WAVE(cosine, cosine_of, cos)

static const Kernel wave_kernels[] = {
    ELEMENTWISE_KERNEL("Sin", sine),
    ELEMENTWISE_KERNEL("Cos", cosine),
    ELEMENTWISE_KERNEL("onnx::Sin", sine),
    ELEMENTWISE_KERNEL("onnx::Cos", cosine),
};

KERNEL_FAMILY(cpu_kernels, waves, wave_kernels);
