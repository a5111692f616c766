/* Infers the shapes of a partition's tensors from its feeds, its constants, and the rules that the gateway
 * gives for tensors that other slots send.
 *
 * Ownership: the result lives in the arena given.
 * Threads:   any.
 * Errors:    false when shapes contradict each other, or without memory. */
#pragma once

#include "worker/runtime/partition/partition.h"

typedef struct MemoryShapes {
    const Tensor *feeds;
    int64_t open_size; /* RunRequest.open_size; 0: not known */
    /* Filled in by memory_shapes_find(): */
    const Shape *const *outputs; /* by node and port; dimensions that cannot be inferred are unknown */
    bool grow;                   /* some shapes follow from the open size */
} MemoryShapes;

MUST_USE bool memory_shapes_find(Arena *arena, const Partition *partition, MemoryShapes *shapes);
