/* Lays buffers out in one block of memory so that those that may live at the same time never overlap: the
 * largest first, each into the smallest gap that takes it between those it meets (the greedy planner of
 * TensorFlow Lite and XNNPACK).
 *
 * Two buffers share bytes only when every use of one comes before the other is made in any order that the
 * graph allows, so that the layout holds for any number of threads.
 *
 * Ownership: what is filled in lives in the arena given.
 * Threads:   pure functions.
 * Errors:    false without memory. */
#pragma once

#include "worker/runtime/memory/flow.h"

enum { LAYOUT_ALIGNMENT = 64, LAYOUT_BUFFERS_MAX = 1024 };

typedef struct LayoutBuffer {
    uint32_t maker;       /* the node that makes it */
    uint32_t last_maker;  /* the last that writes into it; every use before that comes before that */
    uint32_t use_count;   /* … */
    const uint32_t *uses; /* nodes that read it after that */
    uint64_t size;        /* bytes, a multiple of LAYOUT_ALIGNMENT */
    /* Filled in: */
    uint64_t offset;
    const uint32_t *former; /* buffers whose bytes it takes over: the last ones before it there */
    uint32_t former_count;
} LayoutBuffer;

/* Lays out at most LAYOUT_BUFFERS_MAX buffers, given in the order in which their makers come in
 * flow->order. */
MUST_USE bool arena_layout(
    Arena *arena, const Flow *flow, LayoutBuffer *buffers, uint32_t count, uint64_t *ret_size);
