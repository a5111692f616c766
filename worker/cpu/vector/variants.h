/* Compiles a function for each instruction set and chooses one when it is called. Its body is written once,
 * as `name_body`, a VECTOR_FUNCTION that a compiler can vectorise:
 *
 *     VECTOR_FUNCTION void scale_body(float *x, int64_t count) { … }
 *     VECTOR_VARIANTS(scale, (float *x, int64_t count), (x, count))       defines static void scale(…)
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/vector/isa.h"

/* Says of the loop that follows that no iteration needs what another one wrote: the output is an input's
 * memory, or apart from it. */
#define VECTOR_LOOP _Pragma("omp simd")

#ifdef __x86_64__
#define VECTOR_VARIANT(name, isa, features, parameters, arguments)                                           \
    __attribute__((target(features))) static void name##_##isa parameters                                    \
    {                                                                                                        \
        name##_body arguments;                                                                               \
    }
#define VECTOR_VARIANTS(name, parameters, arguments)                                                         \
    VECTOR_VARIANT(name, avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", parameters, arguments)       \
    VECTOR_VARIANT(name, avx2, "avx2,fma", parameters, arguments)                                            \
    static void name parameters                                                                              \
    {                                                                                                        \
        switch (cpu_isa()) {                                                                                 \
        case CPU_ISA_AVX512:                                                                                 \
            name##_avx512 arguments;                                                                         \
            break;                                                                                           \
        case CPU_ISA_AVX2:                                                                                   \
            name##_avx2 arguments;                                                                           \
            break;                                                                                           \
        case CPU_ISA_PLAIN:                                                                                  \
            name##_body arguments;                                                                           \
            break;                                                                                           \
        }                                                                                                    \
    }
#else
#define VECTOR_VARIANTS(name, parameters, arguments)                                                         \
    static void name parameters                                                                              \
    {                                                                                                        \
        name##_body arguments;                                                                               \
    }
#endif
