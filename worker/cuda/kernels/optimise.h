/* Optimisers: each changes the elements of a few variables by a gradient. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_OPTIMISE_VARIABLES_MAX = 4, CUDA_OPTIMISE_SCALARS_MAX = 6 };

/* The rules of shared/ops/variable/apply_kernel.c, with variables and scalars in the same order. */
typedef enum CudaOptimiser {
    CUDA_GRADIENT_DESCENT,
    CUDA_PROXIMAL_GRADIENT_DESCENT,
    CUDA_ADADELTA,
    CUDA_ADAGRAD,
    CUDA_ADAGRAD_V2,
    CUDA_PROXIMAL_ADAGRAD,
    CUDA_FTRL, /* with and without the shrinkage, which is 0 then */
    CUDA_MOMENTUM,
    CUDA_KERAS_MOMENTUM,
    CUDA_ADAM,
    CUDA_ADAM_AMSGRAD,
    CUDA_ADA_MAX,
    CUDA_RMS_PROP,
    CUDA_CENTERED_RMS_PROP,
    CUDA_ADD_SIGN,
    CUDA_POWER_SIGN,
    CUDA_ASSIGN_ADD, /* without scalars: the gradient is what is added */
    CUDA_ASSIGN_SUB,
} CudaOptimiser;

/* All lie on the card. A variable's new elements may replace the old ones in place. */
typedef struct CudaOptimise {
    const void *from[CUDA_OPTIMISE_VARIABLES_MAX]; /* NULL behind the last variable */
    void *to[CUDA_OPTIMISE_VARIABLES_MAX];
    const void *scalars[CUDA_OPTIMISE_SCALARS_MAX]; /* one element each; NULL behind the last */
    const void *gradient;
    /* The record of a refused value: the run fails then, and the variables keep their elements. NULL: none
     * can have been refused. */
    const CudaRefused *refused;
    int64_t count; /* of elements, in each variable and in the gradient */
    bool has_flag; /* use_nesterov or update_slots */
} CudaOptimise;

/* Changes the variables. Floating types. */
int cuda_optimise(CudaType type, CudaOptimiser rule, const CudaOptimise *optimise, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
