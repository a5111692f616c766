/* Lays buffers out in one block of memory so that two that may live at the same time never overlap. The
 * largest comes first, and each goes into the smallest gap that is large enough (the greedy planner of
 * TensorFlow Lite and XNNPACK).
 *
 * Two buffers share bytes only when, in every order that the graph allows, all uses of one come before the
 * other is made. The layout therefore holds for any number of threads.
 *
 * Ownership: arrays that are filled in live in the arena given.
 * Threads:   pure functions.
 * Errors:    false without memory. */
#pragma once

#include "worker/runtime/memory/flow.h"

enum { LAYOUT_ALIGNMENT = 64, LAYOUT_BUFFERS_MAX = 1024 };

typedef struct LayoutBuffer {
    uint32_t maker;      /* the first node that writes into it */
    uint32_t last_maker; /* the last node that writes into it; earlier readers run before this one */
    uint32_t use_count;
    const uint32_t *uses; /* nodes that read it after last_maker */
    uint64_t size;        /* bytes, a multiple of LAYOUT_ALIGNMENT */
    /* Filled in by arena_layout(): */
    uint64_t offset;
    const uint32_t *former; /* indices of the buffers that had some of its bytes just before it */
    uint32_t former_count;
} LayoutBuffer;

/* Lays out at most LAYOUT_BUFFERS_MAX buffers, which must be sorted by their makers' positions in
 * flow->order. *ret_size: bytes of the block. */
MUST_USE bool arena_layout(
    Arena *arena, const Flow *flow, LayoutBuffer *buffers, uint32_t count, uint64_t *ret_size);
