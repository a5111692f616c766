#include "shared/h2/pool.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "shared/base/memory.h"

enum { ITEMS_PER_SLAB = 32 };

/* The link of a free item, or of a slab, which stands before its items. */
struct PoolItem {
    alignas(max_align_t) PoolItem *next;
};

static size_t
rounded_size(const Pool *pool)
{
    size_t unit = sizeof(PoolItem);
    return (pool->item_size + unit - 1) / unit * unit;
}

static void
add_slab(Pool *pool)
{
    size_t size = rounded_size(pool);
    PoolItem *slab = memory_new(1, sizeof(PoolItem) + ITEMS_PER_SLAB * size);
    if (slab == NULL) {
        return;
    }
    slab->next = pool->slabs;
    pool->slabs = slab;
    char *first = (char *)(slab + 1);
    for (size_t index = ITEMS_PER_SLAB; index > 0; index--) {
        pool_give(pool, first + (index - 1) * size);
    }
}

void *
pool_take(Pool *pool)
{
    assert(pool->item_size > 0);

    if (pool->free_items == NULL) {
        add_slab(pool);
    }
    PoolItem *item = pool->free_items;
    if (item != NULL) {
        pool->free_items = item->next;
        memset(item, 0, pool->item_size);
    }
    return item;
}

void
pool_give(Pool *pool, void *item)
{
    assert(item != NULL);

    PoolItem *freed = item;
    freed->next = pool->free_items;
    pool->free_items = freed;
}

void
pool_done(Pool *pool)
{
    while (pool->slabs != NULL) {
        PoolItem *slab = pool->slabs;
        pool->slabs = slab->next;
        memory_free(slab);
    }
    pool->free_items = NULL;
}
