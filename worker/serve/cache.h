/* A bounded cache of shared things by key: what was used longest ago goes when the bytes pass the limit. Only
 * the cache's own references go; whoever uses a thing keeps it.
 *
 * Ownership: the cache holds one reference to each value; cache_get() gives out another.
 * Threads:   any.
 * Errors:    cache_put() says RESOURCE_EXHAUSTED for what can never fit, and without memory. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef struct Cache Cache;

typedef struct CacheStats {
    uint64_t bytes;
    uint64_t bytes_max;
    uint64_t count;
    uint64_t hits;
    uint64_t misses;
    uint64_t evictions;
} CacheStats;

typedef struct CacheType {
    const char *name; /* of one value, for messages: "partition" */
    void (*ref)(void *value);
    void (*unref)(void *value);
} CacheType;

/* `type` must outlive the cache. NULL without memory. */
MUST_USE Cache *cache_new(const CacheType *type, uint64_t bytes_max);
void cache_free(Cache *cache); /* NULL is allowed */

/* A new reference, or NULL. */
void *cache_get(Cache *cache, Slice key);

/* Whether it is there; neither a use nor a hit. */
bool cache_has(Cache *cache, Slice key);

/* Keeps a reference of its own. A value that is there already stays: the same key means the same content. */
MUST_USE Status cache_put(Call *call, Cache *cache, Slice key, void *value, uint64_t bytes);

bool cache_remove(Cache *cache, Slice key); /* false when it was not there */
void cache_stats(Cache *cache, CacheStats *ret_stats);

/* Calls visit for every key that begins with `prefix`, the most recently used first, under the lock. */
void cache_each(Cache *cache, Slice prefix, void (*visit)(void *context, Slice key), void *context);
