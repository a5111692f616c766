/* Objects of one size that come and go all the time: taken from slabs, given back to a free list.
 *
 * Ownership: pool_done() frees every object at once, given back or not.
 * Threads:   one at a time.
 * Errors:    pool_take() returns NULL when there is no memory. */
#pragma once

#include <stddef.h>

#include "shared/base/compiler.h"

typedef struct PoolItem PoolItem;

typedef struct Pool {
    size_t item_size; /* of any size; rounded up for alignment */
    PoolItem *free_items;
    PoolItem *slabs;
} Pool;

MUST_USE void *pool_take(Pool *pool); /* zeroed */
void pool_give(Pool *pool, void *item);
void pool_done(Pool *pool);
