#include "worker/cpu/product/microkernel.h"

#include "worker/cpu/vector/isa.h"

const MicroKernels *
microkernels_choose(void)
{
#ifdef __x86_64__
    switch (cpu_isa()) {
    case CPU_ISA_AVX512:
        return &microkernels_avx512;
    case CPU_ISA_AVX2:
        return &microkernels_avx2;
    case CPU_ISA_PLAIN:
        break;
    }
#endif
    return &microkernels_plain;
}
