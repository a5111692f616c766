/* The shapes of a partition's tensors, as far as they follow from its feeds, from its constants, and from
 * what the gateway says of tensors that other slots send.
 *
 * Ownership: lives in the arena it was made in.
 * Threads:   any.
 * Errors:    false when shapes contradict each other, or without memory. */
#pragma once

#include "worker/runtime/partition/partition.h"

typedef struct MemoryShapes {
    const Tensor *feeds;
    int64_t open_size; /* of RunRequest */
    /* Filled in: */
    const Shape *const *outputs; /* by node and port */
    bool grow;                   /* some follow from the open size */
} MemoryShapes;

MUST_USE bool memory_shapes_find(Arena *arena, const Partition *partition, MemoryShapes *shapes);
