/* Notes which kernel each thread of the process computes, and since when: what the report of a late step says
 * of kernels that have not come back.
 *
 * Ownership: none; what is noted is the thread's own.
 * Threads:   running_begin() and running_end() on the thread that computes, without a lock;
 * running_describe() on any other. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/run_state.h"

/* This thread computes the node, a number in the run's partition. `start_ns` 0: since when was not measured.
 */
void running_begin(const Run *run, uint32_t node, uint64_t start_ns);
void running_end(void);

/* Appends "; computing: 'matmul' (MatMul) for 1200 ms, …". Returns how many nodes of the run that are. */
uint32_t running_describe(const Run *run, Buffer *text);
