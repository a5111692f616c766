/* Plans, before a run of a partition starts, how much memory it will take for feeds of given shapes, and
 * where in one arena its tensors lie.
 *
 * The plan counts the bytes of tensors that a run holds at once on its worker, in whole cache lines: feeds
 * (for the whole run), all that its kernels make or other slots send, and fetches until they are handed
 * out. Constants belong to the partition and variables to the session; they are not counted.
 *
 * A partition without control flow gets an arena: tensors that are read only by the run's own nodes share
 * its bytes when their lives do not overlap in any order of execution. Other tensors (kept, small, of
 * unknown size, or of a partition with loops or branches) are allocated when they are made; what they take
 * is estimated from one order of the nodes.
 *
 * Kernels forecast their scratch memory themselves (Kernel.scratch). memory_plan_learn() corrects the plan
 * by what runs really took.
 *
 * Ownership: refcounted.
 * Threads:   immutable but for learnt_bytes and learnt_runs.
 * Errors:    NULL without memory. A shape that cannot be inferred is no failure, but makes the plan an
 *            estimate (is_exact is false). When inference itself fails, the plan is one of 0 bytes. */
#pragma once

#include "shared/base/atomic.h"
#include "worker/runtime/partition/partition.h"

typedef struct PlannedBuffer {
    uint64_t offset; /* bytes from the start of the arena */
    uint64_t size;
    const uint32_t *former; /* indices of the buffers whose bytes it takes over once they are given back */
    uint32_t former_count;
} PlannedBuffer;

enum { LARGEST_COUNT = 3 };

typedef struct PlannedTensor {
    Slice node; /* its name, which lives as long as the partition */
    uint64_t bytes;
} PlannedTensor;

typedef struct MemoryPlan {
    int32_t reference_count; /* atomic */
    Arena *arena;
    const Shape *feeds; /* the shapes that the plan was made for */
    uint32_t feed_count;
    int64_t open_size; /* RunRequest.open_size that the plan was made for */
    bool grows;        /* shapes of received tensors follow from open_size */
    bool is_branching; /* loops or branches: a run may take much less */
    bool is_exact;     /* all sizes and lifetimes are known; otherwise an estimate */
    uint64_t fed_bytes;
    uint64_t arena_bytes;
    uint64_t loose_bytes;  /* the peak of what is allocated outside of the arena */
    uint64_t learnt_bytes; /* atomic: what runs took beyond the sum of the three above */
    uint32_t learnt_runs;  /* atomic: runs that have been learnt from; stops counting at 2 */
    const PlannedBuffer *buffers;
    uint32_t buffer_count;
    /* Both arrays are NULL without buffers. */
    const uint32_t *starts;  /* by node: index of its first output in `outputs` */
    const uint32_t *outputs; /* by output: its index in `buffers`, BUFFER_NONE or BUFFER_INPUT */
    /* The largest tensors that a run allocates, in descending order; 0 bytes: there are no more. */
    PlannedTensor largest[LARGEST_COUNT];
} MemoryPlan;

static const uint32_t BUFFER_NONE = UINT32_MAX;
static const uint32_t BUFFER_INPUT = UINT32_MAX - 1; /* the output takes over an input's buffer */

/* Makes a plan for feeds of these shapes (only their shapes are read), and for this RunRequest.open_size. */
MUST_USE MemoryPlan *memory_plan_new(const Partition *partition, const Tensor *feeds, int64_t open_size);
MemoryPlan *memory_plan_ref(MemoryPlan *plan);
void memory_plan_unref(MemoryPlan *plan); /* NULL is allowed */

/* Returns whether the plan is right for feeds of these shapes and this open size, which only matters when
 * the plan grows with it. */
bool memory_plan_fits(const MemoryPlan *plan, const Tensor *feeds, int64_t open_size);

/* Returns the most bytes that a run is expected to allocate at once, without its feeds. */
static inline uint64_t
memory_plan_allocated(const MemoryPlan *plan)
{
    return plan->arena_bytes + plan->loose_bytes + atomic_load_relaxed(&plan->learnt_bytes);
}

/* Returns the most bytes that a run is expected to hold at once, with its feeds. */
static inline uint64_t
memory_plan_bytes(const MemoryPlan *plan)
{
    return plan->fed_bytes + memory_plan_allocated(plan);
}

/* Corrects the plan for later runs: a run that succeeded held up to `peak` bytes at once, with its feeds. */
void memory_plan_learn(MemoryPlan *plan, uint64_t peak);
