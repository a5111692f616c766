/* Groups of element-wise nodes, computed by a kernel that NVRTC makes for them (fusion/codes.h). */
#pragma once

#include "worker/cuda/kernels/map.h"
#include "worker/runtime/kernel.h"

/* A condition on the shapes of a node's inputs, which broadcast besides. */
typedef enum CudaShapeRule {
    CUDA_SHAPES_BROADCAST,
    CUDA_SHAPES_OF_BIAS,   /* the second input is a vector with an element for each of the last dimension */
    CUDA_SHAPES_OF_LIMITS, /* all inputs but the first have one element, and as many dimensions at most */
} CudaShapeRule;

/* The state of a node's kernel that may be fused. */
typedef struct CudaFunction {
    CudaMapFunction function;
    CudaShapeRule rule;
    float parameters[CUDA_MAP_PARAMETERS_MAX];
} CudaFunction;

/* The members of Kernel.fusion but for may_join(). The inputs of a node broadcast as NumPy's do, and are of
 * one dtype, but for the condition of a choice. */
MUST_USE Status cuda_fused_create(Call *call, const KernelGroup *group, void **ret_state);
void cuda_fused_destroy(void *state);
MUST_USE Status cuda_fused_compute(KernelContext *context, void *state, bool *ret_is_done);
