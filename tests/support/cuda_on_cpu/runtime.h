/* The first and the last work of every function of the runtime: the lock, the errors that a test has planned,
 * the error that this thread will be told by cudaGetLastError(). */
#pragma once

#include <cuda_runtime_api.h>

/* Takes the lock. Returns the error with which the call is to end at once, or cudaSuccess. */
cudaError_t runtime_enter(const char *function);

/* Gives the lock back, and remembers and returns `error`. */
cudaError_t runtime_leave(cudaError_t error);

/* The error that broke the context, or cudaSuccess. Under the lock. */
cudaError_t runtime_broken(void);

/* Tells that a kernel runs now, which a test may have planned to break the context. Under the lock. */
void runtime_kernel_runs(void);

/* The device that this thread has chosen. */
int runtime_device(void);
