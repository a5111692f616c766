/* Code that is loaded while a program runs (cudaLibraryLoadData): here a shared object for the CPU, behind
 * the head below. Each has one kernel, of one argument, and exports what CODE_EXPORTS declares
 * (tests/support/fake_nvrtc.c).
 *
 * Threads: any; the lock of runtime.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tests/support/cuda_on_cpu/grid.h"

#define CODE_MAGIC "cuda_on_cpu code"

typedef struct CodeHead {
    char magic[sizeof CODE_MAGIC];
    uint64_t size; /* of the shared object that follows */
} CodeHead;

/* The names of the functions that a shared object exports beside its kernel. */
#define CODE_BIND "cuda_on_cpu_bind"
#define CODE_RUN "cuda_on_cpu_run"
#define CODE_SIZE "cuda_on_cpu_size"

typedef void CodeBind(GridThread **thread, GridBlock *block); /* where it finds threadIdx and blockIdx */
typedef void CodeRun(void *kernel, void *argument);           /* a thread of the kernel */
typedef size_t CodeSize(void);                                /* of the argument */
