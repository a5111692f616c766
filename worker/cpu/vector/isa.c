#include "worker/cpu/vector/isa.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/compiler.h"

#ifdef __x86_64__
/* clang does not know the feature by its name. */
static bool
has_half_conversion(void)
{
    unsigned int a = 0;
    unsigned int b = 0;
    unsigned int c = 0;
    unsigned int d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

static CpuIsa
processor_isa(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_half_conversion()) {
        return CPU_ISA_PLAIN;
    }
    bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return has_avx512 ? CPU_ISA_AVX512 : CPU_ISA_AVX2;
}
#else
static CpuIsa
processor_isa(void)
{
    return CPU_ISA_PLAIN;
}
#endif

/* The values of ONEDNN_MAX_CPU_ISA that begin so; a value that is none of them limits nothing. */
static const struct {
    const char *beginning;
    CpuIsa limit;
} LIMITS[] = {
    {"SSE41", CPU_ISA_PLAIN}, {"AVX2", CPU_ISA_AVX2}, {"AVX512", CPU_ISA_AVX512}, {"AVX", CPU_ISA_PLAIN}};

static CpuIsa
limit_of_environment(void)
{
    const char *wanted = getenv("ONEDNN_MAX_CPU_ISA");
    for (size_t index = 0; wanted != NULL && index < COUNT_OF(LIMITS); index++) {
        if (strncmp(wanted, LIMITS[index].beginning, strlen(LIMITS[index].beginning)) == 0) {
            return LIMITS[index].limit;
        }
    }
    return CPU_ISA_AVX512;
}

static CpuIsa
smaller_of(CpuIsa left, CpuIsa right)
{
    return left < right ? left : right;
}

/* 1 + the instruction set; 0 before it was asked for. All threads that find 0 compute the same. */
static int chosen; /* atomic */

CpuIsa
cpu_isa(void)
{
    int isa = atomic_load_relaxed(&chosen);
    if (isa == 0) {
        isa = 1 + (int)smaller_of(processor_isa(), limit_of_environment());
        atomic_store_relaxed(&chosen, isa);
    }
    return (CpuIsa)(isa - 1);
}

void
cpu_isa_limit(CpuIsa limit)
{
    atomic_store_relaxed(&chosen, 1 + (int)smaller_of(processor_isa(), limit));
}
