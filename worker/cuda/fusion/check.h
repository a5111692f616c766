/* Compares a function that NVRTC compiled with the same one in the plugin, element by element: 65,536 of
 * them, bit for bit.
 *
 * Ownership: fusion_check_done() frees what the first comparison made; a check of zeroes may be done, too.
 * Threads:   one at a time; outside of any lane's turn.
 * Errors:    those of cuda_check(). */
#pragma once

#include <cuda_runtime_api.h>

#include "shared/base/call.h"
#include "worker/cuda/kernels/map.h"

typedef struct FusionCheck {
    cudaStream_t stream;
    char *memory; /* of the host, which the card reads and writes: inputs, then both results */
} FusionCheck;

/* `kernel` computes the function, from inputs of this type, as a group of one step. */
MUST_USE Status fusion_check(Call *call, FusionCheck *check, CudaMapFunction function, CudaType type,
    cudaKernel_t kernel, bool *ret_is_equal);
void fusion_check_done(FusionCheck *check);
