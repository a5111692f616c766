/* Random numbers of a counter and a key. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As Philox (worker/reference/philox.h). */
typedef struct CudaPhilox {
    uint32_t counter[4];
    uint32_t key[2];
} CudaPhilox;

typedef enum CudaDistribution {
    CUDA_RANDOM_UNIFORM,
    CUDA_RANDOM_NORMAL,
    CUDA_RANDOM_TRUNCATED, /* normal, within two standard deviations */
} CudaDistribution;

/* Groups of four numbers, or two of float64, are `apart` counters from one another. */
typedef struct CudaRandom {
    CudaPhilox start;
    int64_t apart;
    void *output;
    int64_t count;
} CudaRandom;

/* Floating types. */
int cuda_random(CudaDistribution distribution, CudaType type, const CudaRandom *random, cudaStream_t stream);

/* Integers minimum … minimum + range - 1: int32 of a word each, int64 of two. */
typedef struct CudaRandomIntegers {
    CudaPhilox start;
    int64_t minimum;
    uint64_t range;
    void *output;
    int64_t count;
    bool is_wide; /* int64 */
} CudaRandomIntegers;

int cuda_random_integers(const CudaRandomIntegers *random, cudaStream_t stream);

/* Classes that are drawn by their shares e^logit; logits that are not finite have none. */
typedef struct CudaClasses {
    CudaPhilox start;
    const void *logits;
    double *sums; /* of the shares of each class and all before it */
    void *output;
    int64_t rows;
    int64_t classes; /* at least 1 */
    int64_t samples; /* of each row */
    bool is_wide;    /* outputs are int64, else int32 */
} CudaClasses;

/* The first step makes the shares of the logits, of floating types, in `sums`; the second draws, when they
 * have been added up. */
int cuda_class_shares(CudaType type, const CudaClasses *classes, cudaStream_t stream);
int cuda_draw_classes(const CudaClasses *classes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
