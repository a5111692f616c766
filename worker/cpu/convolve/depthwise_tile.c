#include "worker/cpu/convolve/depthwise_tile.h"

#include <stddef.h>

#include "worker/cpu/vector/isa.h"

const DepthwiseKernels *
depthwise_kernels_choose(void)
{
#ifdef __x86_64__
    switch (cpu_isa()) {
    case CPU_ISA_AVX512:
        return &depthwise_kernels_avx512;
    case CPU_ISA_AVX2:
        return &depthwise_kernels_avx2;
    case CPU_ISA_PLAIN:
        break;
    }
#endif
    return NULL;
}
