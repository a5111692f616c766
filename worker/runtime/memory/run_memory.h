/* The arena of one run: one block of the device's memory in which all planned tensors lie, each as a
 * buffer that is given out once its bytes are free.
 *
 * The plan says when bytes should be free; reference counts say whether they are. A kernel that holds a
 * tensor longer than planned costs memory, but never makes a result wrong: the bytes stay its own until it
 * lets go, even past the end of the run, and who was to have them next allocates others.
 *
 * Ownership: refcounted; the run holds one reference and each buffer given out another.
 * Threads:   PlannedMemory's functions are called by the thread that runs the node; buffers are given back
 *            on any thread. */
#pragma once

#include "worker/runtime/kernel.h"
#include "worker/runtime/memory/memory_plan.h"

typedef struct RunMemory RunMemory;

/* Makes the arena of a plan with at least one buffer, and takes a reference to the plan. NULL without
 * memory. */
MUST_USE RunMemory *run_memory_new(MemoryPlan *plan);
void run_memory_unref(RunMemory *memory); /* NULL is allowed */

/* Returns the arena in the form in which kernels use it (KernelContext.memory). */
PlannedMemory *run_memory_planned(RunMemory *memory);

/* Allocates the block from the device, before a run starts. False when the device has not enough memory. */
MUST_USE bool run_memory_begin(RunMemory *memory, Device *device);

/* Frees the block after a run. False when a buffer given out is still held: the caller's reference is
 * gone, and the arena ends with the last such buffer. */
MUST_USE bool run_memory_end(RunMemory *memory);
