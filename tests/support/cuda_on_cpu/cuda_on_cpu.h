/* CUDA's runtime without a GPU: kernels (.cu) are compiled as C++ for the CPU (language.cuh), and the
 * functions of cuda_runtime_api.h that the CUDA plugin calls are defined here, so that the plugin's own code
 * runs unchanged. Types and prototypes are those of the toolkit's headers: a wrong call does not compile.
 *
 * It is harsh where a GPU may be. Streams do their work as late as they may (streams.h), the threads of a
 * block run in the least fair order (grid.h), and the device's memory is closed to the host, NaN while it is
 * fresh and overwritten when it is freed (memory.h). A mistake that has no error code in CUDA (a barrier that
 * not all threads reach, a write behind a block, pageable memory in an asynchronous copy) ends the process
 * with a sentence.
 *
 * Not covered: inline PTX, textures, cooperative groups, the order of memory between blocks (one runs behind
 * the other), speed.
 *
 * Threads: any, several at once; one lock is held through each call, and through the work that it does.
 * Errors:  CUDA's own codes, also of calls that it would refuse in a capture. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/cuda_on_cpu/code.h"
#include "tests/support/cuda_on_cpu/grid.h"
#include "tests/support/cuda_on_cpu/memory.h"
#include "tests/support/cuda_on_cpu/streams.h"

/* Begins anew, as in a new process: one device of 256 MiB, no streams, no errors, no memory. Nobody may use
 * the runtime meanwhile. Fails the process when blocks of device memory are still held and `expects_no_leak`.
 */
void cuda_on_cpu_reset(bool expects_no_leak);

/* Chooses the order in which threads and streams get on; also by CUDA_ON_CPU_SEED. */
void cuda_on_cpu_seed(uint64_t seed);

/* 0: cudaErrorNoDevice. Also by CUDA_ON_CPU_DEVICES. */
void cuda_on_cpu_set_devices(int count);

/* Sets the size of the card's memory, at most 4 GiB; also by CUDA_ON_CPU_MEMORY (bytes). */
void cuda_on_cpu_set_memory(size_t size);

/* Fails the `index`-th call (0: the next) of the function of this name with `error`, once. */
void cuda_on_cpu_fail(const char *function, unsigned index, cudaError_t error);

/* Breaks the context for good: every call returns `error`, work is dropped. */
void cuda_on_cpu_break(cudaError_t error);

/* The same, by the next kernel that runs: it is found later, by a call that waits or asks. Also by
 * CUDA_ON_CPU_FAULT: an illegal address, once a file of this name is there. */
void cuda_on_cpu_break_in_kernel(cudaError_t error);

/* Ends the process from now on when something is enqueued in the stream by a thread for which may_use(owner)
 * is false: CUDA itself lets any thread use any stream. */
void cuda_on_cpu_guard(cudaStream_t stream, bool (*may_use)(const void *owner), const void *owner);

/* Returns how often the function was called since the last reset ("launch": kernels). */
uint64_t cuda_on_cpu_calls(const char *function);
