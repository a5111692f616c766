/* Plans how much memory a run of a partition will take for feeds of certain shapes, known before it starts,
 * and where in one arena its tensors lie.
 *
 * What counts are the bytes of tensors that a run holds at once on its worker, in whole cache lines: feeds
 * (for the whole run), everything that its kernels make or other slots send, fetches until they are handed
 * out. Constants and variables are the partition's and the session's, not the run's.
 *
 * A partition without control flow gets an arena: tensors that nobody keeps share its bytes when their lives
 * are apart in any order of execution. The others, and those of loops, branches and unknown shapes, are
 * allocated when they are made; what they take is estimated from one order.
 *
 * What kernels take to work in they tell ahead themselves (Kernel.scratch); where they err, runs correct it.
 *
 * Ownership: refcounted.
 * Threads:   immutable but for what is learnt.
 * Errors:    NULL without memory. Shapes that cannot be told make an estimate, no failure. */
#pragma once

#include "shared/base/atomic.h"
#include "worker/runtime/partition/partition.h"

typedef struct PlannedBuffer {
    uint64_t offset; /* in the arena */
    uint64_t size;
    const uint32_t *former; /* buffers that had its bytes before and must be given back */
    uint32_t former_count;
} PlannedBuffer;

enum { LARGEST_COUNT = 3 };

typedef struct PlannedTensor {
    Slice node; /* lives as long as the partition */
    uint64_t bytes;
} PlannedTensor;

typedef struct MemoryPlan {
    int32_t reference_count; /* atomic */
    Arena *arena;
    const Shape *feeds; /* that it is for */
    uint32_t feed_count;
    int64_t open_size; /* of the feeds, by which what is received grows */
    bool grows;        /* what is received follows from that */
    bool is_branching; /* loops or branches: a run may well take less */
    bool is_exact;     /* all sizes and lives are known; else it is an estimate */
    uint64_t fed_bytes;
    uint64_t arena_bytes;
    uint64_t loose_bytes;  /* the most outside of the arena at once */
    uint64_t learnt_bytes; /* atomic: what runs were seen to take beyond that */
    uint32_t learnt_runs;  /* atomic: from how many, as far as it matters */
    const PlannedBuffer *buffers;
    uint32_t buffer_count;
    const uint32_t *starts;  /* by node: index of its first output in `outputs` */
    const uint32_t *outputs; /* by output: its buffer, BUFFER_NONE or BUFFER_INPUT. Both arrays are NULL
                              * without buffers */
    PlannedTensor largest[LARGEST_COUNT]; /* the largest tensors, of those that a run makes */
} MemoryPlan;

static const uint32_t BUFFER_NONE = UINT32_MAX;
static const uint32_t BUFFER_INPUT = UINT32_MAX - 1; /* an input's, which it takes over */

/* Plans for feeds of these shapes, and this open size (RunRequest). Nothing of former plans is used. */
MUST_USE MemoryPlan *memory_plan_new(const Partition *partition, const Tensor *feeds, int64_t open_size);
MemoryPlan *memory_plan_ref(MemoryPlan *plan);
void memory_plan_unref(MemoryPlan *plan); /* NULL is allowed */

/* Returns whether the plan was made for feeds of these shapes and this open size. */
bool memory_plan_fits(const MemoryPlan *plan, const Tensor *feeds, int64_t open_size);

/* Returns the most bytes that a run is expected to allocate at once, without its feeds. */
static inline uint64_t
memory_plan_allocated(const MemoryPlan *plan)
{
    return plan->arena_bytes + plan->loose_bytes + atomic_load_relaxed(&plan->learnt_bytes);
}

/* Returns the most bytes that a run is expected to hold at once, its feeds included. */
static inline uint64_t
memory_plan_bytes(const MemoryPlan *plan)
{
    return plan->fed_bytes + memory_plan_allocated(plan);
}

/* Notes that a run took `peak` bytes, for the next ones. */
void memory_plan_learn(MemoryPlan *plan, uint64_t peak);
