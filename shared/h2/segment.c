#include "shared/h2/segment.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"

enum { BLOCK_SIZE = 4096, SPARE_BLOCKS_MAX = 256 };

void
segment_store_init(SegmentStore *store)
{
    *store = (SegmentStore){.pool.item_size = sizeof(Segment)};
}

void
segment_store_done(SegmentStore *store)
{
    for (Segment *segment = store->spare_blocks; segment != NULL; segment = segment->next) {
        memory_free(segment->storage);
    }
    store->spare_blocks = NULL;
    pool_done(&store->pool);
}

Segment *
segment_new(SegmentStore *store, Slice data, H2Release release, void *owner)
{
    Segment *segment = pool_take(&store->pool);
    if (segment != NULL) {
        segment->data = data.data;
        segment->size = data.size;
        segment->references = 1;
        segment->release = release;
        segment->owner = owner;
    }
    return segment;
}

static Segment *
new_block(SegmentStore *store, size_t capacity)
{
    Segment *segment = segment_new(store, slice_of(NULL, 0), NULL, NULL);
    if (segment == NULL) {
        return NULL;
    }
    segment->storage = memory_resize(NULL, capacity);
    if (segment->storage == NULL) {
        pool_give(&store->pool, segment);
        return NULL;
    }
    segment->data = segment->storage;
    segment->capacity = capacity;
    return segment;
}

Segment *
segment_new_copy(SegmentStore *store, Slice data)
{
    Segment *segment = store->spare_blocks;
    if (data.size > BLOCK_SIZE || segment == NULL) {
        segment = new_block(store, data.size > BLOCK_SIZE ? data.size : BLOCK_SIZE);
    } else {
        store->spare_blocks = segment->next;
        store->spare_count--;
        segment->next = NULL;
        segment->size = 0;
        segment->sent = 0;
        segment->references = 1;
    }
    if (segment != NULL) {
        (void)segment_append(segment, data);
    }
    return segment;
}

bool
segment_append(Segment *segment, Slice data)
{
    assert(segment->size <= segment->capacity || segment->storage == NULL);

    if (segment->storage == NULL || segment->capacity - segment->size < data.size) {
        return false;
    }
    if (data.size > 0) {
        memcpy(segment->storage + segment->size, data.data, data.size);
        segment->size += data.size;
    }
    return true;
}

static void
segment_recycle(SegmentStore *store, Segment *segment)
{
    if (segment->capacity == BLOCK_SIZE && store->spare_count < SPARE_BLOCKS_MAX) {
        segment->next = store->spare_blocks;
        store->spare_blocks = segment;
        store->spare_count++;
        return;
    }
    memory_free(segment->storage);
    pool_give(&store->pool, segment);
}

void
segment_unref(SegmentStore *store, Segment *segment)
{
    assert(segment->references > 0);

    if (--segment->references > 0) {
        return;
    }
    if (segment->release == NULL) {
        segment_recycle(store, segment);
    } else {
        segment->next = store->released;
        store->released = segment;
    }
}

void
segment_store_run_releases(SegmentStore *store)
{
    while (store->released != NULL) {
        Segment *segment = store->released;
        store->released = segment->next;
        H2Release release = segment->release;
        void *owner = segment->owner;
        segment_recycle(store, segment);
        release(owner);
    }
}
