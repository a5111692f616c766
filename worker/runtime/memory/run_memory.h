/* The arena of one run: the planned tensors' bytes, in one block of the device's memory, and a buffer for
 * each that can be given out once its bytes are really free.
 *
 * Whether they are is looked at each time: a kernel that holds a tensor longer than the plan thinks costs
 * memory, never a result. Its bytes stay until it lets go, also behind the end of the run.
 *
 * Ownership: refcounted; the run holds one reference and each buffer given out another.
 * Threads:   run_memory_take() comes from the thread that runs the node; buffers are
 *            given back anywhere. */
#pragma once

#include "worker/runtime/memory/memory_plan.h"

typedef struct RunMemory RunMemory;

/* For a plan with buffers. NULL without memory. */
MUST_USE RunMemory *run_memory_new(MemoryPlan *plan);
void run_memory_unref(RunMemory *memory); /* NULL is allowed */

/* Before a run: takes the block from the device. False: it is not to be had. */
MUST_USE bool run_memory_begin(RunMemory *memory, Device *device);
/* Behind a run: gives the block back. False: somebody holds a part of it; the memory goes with that. */
MUST_USE bool run_memory_end(RunMemory *memory);

/* The buffer planned for an output of `size` bytes; NULL when there is none or its bytes are not free. */
TensorBuffer *run_memory_take(RunMemory *memory, const Node *node, uint32_t port, size_t size);

/* Whether the output may take this buffer over: no bytes of the arena unless it was planned so. */
bool run_memory_may_pass(
    const RunMemory *memory, const Node *node, uint32_t port, const TensorBuffer *buffer);
