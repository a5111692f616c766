/* The arena of one run: one block of the device's memory with all planned tensors in it, and a buffer for
 * each that is given out once its bytes are free.
 *
 * A plan says when bytes should be free; this looks whether they are. A kernel that holds a tensor longer
 * than the plan thinks costs memory, never a result: its bytes stay until it lets go, also past the end of
 * the run.
 *
 * Ownership: refcounted; the run holds one reference and each buffer given out another.
 * Threads:   PlannedMemory's functions are called by the thread that runs the node; buffers are given back on
 *            any thread. */
#pragma once

#include "worker/runtime/kernel.h"
#include "worker/runtime/memory/memory_plan.h"

typedef struct RunMemory RunMemory;

/* Makes the arena of a plan that has buffers. NULL without memory. */
MUST_USE RunMemory *run_memory_new(MemoryPlan *plan);
void run_memory_unref(RunMemory *memory); /* NULL is allowed */

/* Returns the arena as kernels see it. */
PlannedMemory *run_memory_planned(RunMemory *memory);

/* Takes the block from the device, before the run starts. False: there is not enough memory. */
MUST_USE bool run_memory_begin(RunMemory *memory, Device *device);

/* Gives the block back after the run. False: somebody still holds a part of it, and the memory, now theirs,
 * goes with the last such part. */
MUST_USE bool run_memory_end(RunMemory *memory);
