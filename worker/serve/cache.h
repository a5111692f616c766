/* Keeps what gateways have registered with this worker, partitions and large constants (blobs), by tenant
 * and digest. Its size in bytes is bounded: the least recently used entries make room for new ones. An
 * evicted value lives on while somebody holds a reference.
 *
 * A tenant sees only its own entries: knowing a digest gives no right to the bytes. The caller of
 * cache_put() has checked that the value has this digest.
 *
 * Ownership: the cache holds one reference to each value; cache_get() returns another.
 * Threads:   any.
 * Errors:    cache_put() fails with RESOURCE_EXHAUSTED for a value larger than the cache, and without
 * memory; with INVALID_ARGUMENT for a key that is too long. */
#pragma once

#include "shared/base/call.h"
#include "worker/runtime/partition/partition.h"

enum { CACHE_KEY_MAX = 255 };

typedef struct Cache Cache;

/* Two texts without '/' whose lengths sum up to less than CACHE_KEY_MAX bytes. */
typedef struct CacheKey {
    Slice tenant;
    Slice digest; /* SHA-256, lower-case hex */
} CacheKey;

typedef struct CacheStats {
    uint64_t bytes;
    uint64_t bytes_max;
    uint64_t count;
    uint64_t hits;
    uint64_t misses;
    uint64_t evictions;
} CacheStats;

typedef struct CacheType {
    const char *name;    /* name of one value, for messages */
    const char *setting; /* the worker's setting that bounds the cache, for messages */
    void (*ref)(void *value);
    void (*unref)(void *value);
    uint64_t (*size)(const void *value); /* bytes */
    bool (*is_used)(const void *value);  /* somebody beside the cache holds a reference */
    bool keeps_used;                     /* a value in use stays: dropping it would free nothing */
} CacheType;

extern const CacheType partition_cache_type; /* values are Partitions */
extern const CacheType blob_cache_type;      /* values are TensorBuffers */

/* `type` must outlive the cache. NULL without memory. */
MUST_USE Cache *cache_new(const CacheType *type, uint64_t bytes_max);
void cache_free(Cache *cache); /* NULL is allowed */

/* Returns a new reference, or NULL when the key is not there. Counts as a use. */
void *cache_get(Cache *cache, CacheKey key);

/* Returns whether the key is there. Counts neither as a use nor as a hit. */
bool cache_has(Cache *cache, CacheKey key);

/* Keeps a new reference to the value. When the key is there already, the old value stays: equal keys mean
 * equal content. */
MUST_USE Status cache_put(Call *call, Cache *cache, CacheKey key, void *value);

/* Drops the value that was used longest ago, of those that nobody beside the cache holds and that are worth
 * dropping (NULL: all are). False: there is none. */
bool cache_drop(
    Cache *cache, bool (*is_worthwhile)(const void *value, const void *context), const void *context);
bool cache_remove(Cache *cache, CacheKey key); /* false when it was not there */
void cache_stats(Cache *cache, CacheStats *ret_stats);

/* Writes "tenant/digest". Returns an empty text, which is no entry's key, when that is too long. */
Slice cache_key_text(CacheKey key, char ret_text[CACHE_KEY_MAX]);
CacheKey cache_key_of_text(Slice text); /* points into the text */
