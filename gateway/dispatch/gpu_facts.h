/* The facts that a worker tells of its GPU, or why it has none. It seldom changes, so that the snapshots of
 * the directory share it.
 *
 * Ownership: refcounted and immutable.
 * Threads:   any.
 * Errors:    none but lack of memory, which gives NULL. */
#pragma once

#include "shared/wire/messages.h"

typedef struct GpuFacts {
    int32_t reference_count; /* atomic */
    Arena *arena;
    const WireDevice *device; /* as the worker told it, without what changes all the time; NULL: none */
    Slice absence;            /* why there is none, in a user's words; empty: not told */
} GpuFacts;

/* Returns the worker's GPU among its devices; NULL: it has none. */
const WireDevice *gpu_of_worker(const WireWorker *worker);

/* Returns a new reference to `known` when the worker tells the same, else new facts. NULL when it tells
 * nothing, as older workers, and without memory. */
MUST_USE GpuFacts *gpu_facts_obtain(GpuFacts *known, const WireWorker *worker);

GpuFacts *gpu_facts_ref(GpuFacts *facts); /* NULL is allowed */
void gpu_facts_unref(GpuFacts *facts);    /* NULL is allowed */

/* Returns whether there is a GPU, though perhaps out of service. `facts` may be NULL. */
static inline bool
gpu_facts_have_card(const GpuFacts *facts)
{
    return facts != NULL && facts->device != NULL;
}

/* Returns why the worker computes nothing on a GPU: its fault, why there is none, or "no GPU"; empty when it
 * serves. `facts` may be NULL. */
Slice gpu_facts_why_not(const GpuFacts *facts);
