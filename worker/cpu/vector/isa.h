/* The instruction sets that loops over many numbers are compiled for. All give the same bits (functions.h).
 *
 * Threads: any. */
#pragma once

typedef enum CpuIsa {
    CPU_ISA_PLAIN,  /* what every processor of the architecture has */
    CPU_ISA_AVX2,   /* with fused multiply-add, and conversions of float16 */
    CPU_ISA_AVX512, /* foundation, byte, word, double word and vector length */
} CpuIsa;

/* Returns the best of them that the processor has, and that ONEDNN_MAX_CPU_ISA (SSE41, AVX, AVX2, …) does not
 * rule out: the variable limits oneDNN and these loops together. */
CpuIsa cpu_isa(void);

/* Limits cpu_isa() from now on, so that a test can compare instruction sets in one process. */
void cpu_isa_limit(CpuIsa limit);
