/* Body bytes on their way out, with the promise to give them back once.
 *
 * A segment is referenced by its stream's queue and by every piece of it that waits in the output. When
 * the last reference goes, its release is put off to segment_store_run_releases(), since a release may
 * call anything.
 *
 * Ownership: the store owns segments and the storage of copied bytes; other bytes are the writer's until
 *            released.
 * Threads:   the connection's.
 * Errors:    NULL when there is no memory. */
#pragma once

#include <stdbool.h>

#include "shared/base/slice.h"
#include "shared/h2/h2.h"
#include "shared/h2/pool.h"

typedef struct Segment {
    struct Segment *next;
    const char *data;
    size_t size;
    size_t sent; /* bytes at the front that have gone to the output */
    unsigned references;
    H2Release release;
    void *owner;
    char *storage; /* NULL where the bytes are the writer's */
    size_t capacity;
} Segment;

typedef struct SegmentStore {
    Pool pool;
    Segment *spare_blocks; /* free segments that keep their storage */
    size_t spare_count;
    Segment *released;
} SegmentStore;

void segment_store_init(SegmentStore *store);
void segment_store_done(SegmentStore *store);

/* Make a segment with one reference, the caller's. */
MUST_USE Segment *segment_new(SegmentStore *store, Slice data, H2Release release, void *owner);
MUST_USE Segment *segment_new_copy(SegmentStore *store, Slice data);

/* Copies the bytes to the end of the segment; returns false when it is no copy or has no room left. */
bool segment_append(Segment *segment, Slice data);

static inline Segment *
segment_ref(Segment *segment)
{
    segment->references++;
    return segment;
}
void segment_unref(SegmentStore *store, Segment *segment);

static inline bool
segment_store_has_releases(const SegmentStore *store)
{
    return store->released != NULL;
}
void segment_store_run_releases(SegmentStore *store);
