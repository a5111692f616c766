/* Groups of element-wise nodes, computed by a kernel that NVRTC makes for them (fusion/codes.h). */
#pragma once

#include "worker/cuda/kernels/map.h"
#include "worker/runtime/kernel.h"

/* The state of a node's kernel that may be fused. */
typedef struct CudaFunction {
    CudaMapFunction function;
    float parameters[CUDA_MAP_PARAMETERS_MAX];
} CudaFunction;

/* The members of Kernel.fusion but for may_join(). The inputs of a node are of one dtype, and broadcast as
 * NumPy's do. */
MUST_USE Status cuda_fused_create(Call *call, const KernelGroup *group, void **ret_state);
void cuda_fused_destroy(void *state);
MUST_USE Status cuda_fused_compute(KernelContext *context, void *state, bool *ret_is_done);
