/* Finds the values that a run of a partition holds in memory, as far as shapes tell. A value is one
 * tensor's elements: the node that makes it, the nodes that read it, and its size.
 *
 * An output that shares the elements of an input (Identity, Reshape) is the same value. An output that is
 * sure to reuse an input's memory is a value of its own that takes over `from`: an element-wise kernel's,
 * when every other reader of the input comes before it in any order.
 *
 * Ownership: lives in the arena it was made in.
 * Threads:   memory_values_find() on any; its result belongs to the caller.
 * Errors:    false without memory. */
#pragma once

#include "worker/runtime/memory/flow.h"

typedef enum ValueKind {
    VALUE_FED,       /* a feed: held from before the run's start */
    VALUE_RECEIVED,  /* arrives from another slot, and is freed after its last use */
    VALUE_NEW,       /* allocated by the node that makes it */
    VALUE_ELSEWHERE, /* memory that is not counted here: a constant's, a variable's, a called function's */
} ValueKind;

static const uint32_t VALUE_NONE = UINT32_MAX;

typedef struct MemoryValue {
    ValueKind kind;
    bool is_known; /* the size is known */
    bool is_kept;  /* may be held longer than its readers run: by a fetch, a transfer, a resource */
    bool is_held;  /* kept, and counted until the run ends: every keeper but a _Send */
    uint32_t node; /* the node that makes it */
    uint32_t port;
    uint32_t from; /* the value whose memory it takes over, at a lower index; VALUE_NONE: it has its own */
    uint64_t size; /* bytes, rounded up to whole cache lines; 0 when unknown */
    uint32_t use_count;
    const uint32_t *uses; /* nodes that read it (not `from`); one that reads it twice is there twice */
} MemoryValue;

typedef struct MemoryValues {
    MemoryValue *values;
    uint32_t count;
    const uint32_t *starts;  /* by node: index of its first output in `outputs` */
    const uint32_t *outputs; /* by output: index of its value */
} MemoryValues;

/* Fills in the values, in the order in which flow->order makes them. `shapes`: by node and port. */
MUST_USE bool memory_values_find(Arena *arena, const Partition *partition, const Flow *flow,
    const Shape *const *shapes, MemoryValues *ret_values);
