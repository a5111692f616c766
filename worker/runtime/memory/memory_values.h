/* The values that a run of a partition will keep in memory, as far as shapes tell: one value for each stretch
 * of bytes, with who makes it, who reads it, and where it ends up.
 *
 * Outputs that are another's elements (Identity, Reshape) are the same value. So are outputs that surely take
 * an input's memory over: an element-wise kernel's, when every other reader of the input comes before it in
 * any order.
 *
 * Ownership: lives in the arena it was made in.
 * Threads:   immutable.
 * Errors:    false without memory. */
#pragma once

#include "worker/runtime/memory/flow.h"

typedef enum ValueKind {
    VALUE_FED,       /* there from the start */
    VALUE_RECEIVED,  /* comes from another slot, and goes with its last use */
    VALUE_NEW,       /* its maker allocates it */
    VALUE_ELSEWHERE, /* a constant's, a variable's: not the run's */
} ValueKind;

static const uint32_t VALUE_NONE = UINT32_MAX;

typedef struct MemoryValue {
    ValueKind kind;
    bool is_known; /* its size */
    bool is_kept;  /* somebody may hold it longer than the graph shows: a fetch, a transfer, a variable */
    bool is_held;  /* it is kept, and mostly for long: not by a transfer */
    uint32_t node; /* that makes it */
    uint32_t port;
    uint32_t from; /* the value whose memory it takes over, made before it; VALUE_NONE: it has its own */
    uint64_t size; /* bytes in whole cache lines */
    uint32_t use_count;
    const uint32_t *uses; /* nodes, of it alone; one that reads it twice is there twice */
} MemoryValue;

typedef struct MemoryValues {
    MemoryValue *values;
    uint32_t count;
    const uint32_t *starts;  /* by node: index of its first output in `outputs` */
    const uint32_t *outputs; /* by output: its value */
} MemoryValues;

/* `shapes` by node and port. */
MUST_USE bool memory_values_find(Arena *arena, const Partition *partition, const Flow *flow,
    const Shape *const *shapes, MemoryValues *ret_values);
