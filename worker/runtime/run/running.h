/* Notes which node each thread of the process computes, and since when, so that the report of a late step
 * can name kernels that have not come back.
 *
 * Ownership: none; each thread has one note of its own.
 * Threads:   running_begin() and running_end() on the thread that computes, without a lock;
 *            running_describe() on any. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/run_state.h"

/* Notes that this thread computes a node, given by its number in the run's partition, since `start_ns`
 * (monotonic; 0: not measured). */
void running_begin(const Run *run, uint32_t node, uint64_t start_ns);
void running_end(void);

/* Appends "; computing: 'matmul' (MatMul) for 1200 ms, …" with at most four nodes. Returns how many
 * threads compute a node of this run. */
uint32_t running_describe(const Run *run, Buffer *text);
