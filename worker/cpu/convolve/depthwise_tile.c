#include "worker/cpu/convolve/depthwise_tile.h"

#include <stddef.h>

#include "worker/cpu/vector/isa.h"

const DepthwiseKernels *
depthwise_kernels_choose(int64_t columns)
{
#ifdef __x86_64__
    switch (cpu_isa()) {
    case CPU_ISA_AVX512:
        return columns <= depthwise_kernels_avx512_narrow.edge ? &depthwise_kernels_avx512_narrow
                                                               : &depthwise_kernels_avx512;
    case CPU_ISA_AVX2:
        return &depthwise_kernels_avx2;
    case CPU_ISA_PLAIN:
        break;
    }
#endif
    (void)columns;
    return NULL;
}
