/* Stands for tests/support/cuda_on_cpu where a test is linked with CUDA's own runtime, for a machine with a
 * card: what can only be chosen or counted of a card that is played is as the card has it, or not counted. */
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

void
cuda_on_cpu_reset(bool expects_no_leak)
{
    (void)expects_no_leak;
}

void
cuda_on_cpu_set_memory(size_t size)
{
    (void)size;
}

void
cuda_on_cpu_guard(cudaStream_t stream, bool (*may_use)(const void *owner), const void *owner)
{
    (void)stream;
    (void)may_use;
    (void)owner;
}

uint64_t
cuda_on_cpu_calls(const char *function)
{
    (void)function;
    return 0;
}
