/* A run fixture (partition_runs.h) whose accelerator is a card of the CUDA plugin, played by the CPU
 * (cuda_on_cpu). */
#pragma once

#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/partition_runs.h"

typedef struct CudaFixture {
    RunFixture run;
    PluginDevice opened;
} CudaFixture;

void cuda_fixture_begin(CudaFixture *fixture);

/* Waits until all memory is given back. */
void cuda_fixture_end(CudaFixture *fixture);
