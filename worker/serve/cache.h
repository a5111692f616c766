/* Keeps what gateways have registered with this worker, partitions and large constants (blobs), by tenant and
 * digest, bounded in bytes: the one used longest ago goes when a new one needs room. Only the cache's own
 * reference goes; whoever uses a thing keeps it.
 *
 * A tenant sees only what is its own: knowing a digest is no right to the bytes. Whoever puts something has
 * checked that it has this digest.
 *
 * Ownership: the cache holds one reference to each value; cache_get() gives out another.
 * Threads:   any.
 * Errors:    cache_put() says RESOURCE_EXHAUSTED for what can never fit, and without memory; INVALID_ARGUMENT
 * for a key that is too long. */
#pragma once

#include "shared/base/call.h"
#include "worker/runtime/partition/partition.h"

typedef struct Cache Cache;

/* Two texts without '/'; together less than CACHE_KEY_MAX bytes. */
typedef struct CacheKey {
    Slice tenant;
    Slice digest; /* SHA-256, lower-case hex */
} CacheKey;

enum { CACHE_KEY_MAX = 255 };

typedef struct CacheStats {
    uint64_t bytes;
    uint64_t bytes_max;
    uint64_t count;
    uint64_t hits;
    uint64_t misses;
    uint64_t evictions;
} CacheStats;

typedef struct CacheType {
    const char *name; /* of one value, for messages */
    void (*ref)(void *value);
    void (*unref)(void *value);
    uint64_t (*size)(const void *value); /* bytes */
} CacheType;

extern const CacheType partition_cache_type; /* Partition */
extern const CacheType blob_cache_type;      /* TensorBuffer */

/* `type` must outlive the cache. NULL without memory. */
MUST_USE Cache *cache_new(const CacheType *type, uint64_t bytes_max);
void cache_free(Cache *cache); /* NULL is allowed */

/* Returns a new reference, or NULL. */
void *cache_get(Cache *cache, CacheKey key);

/* Returns whether the key is there; neither a use nor a hit. */
bool cache_has(Cache *cache, CacheKey key);

/* Keeps a reference of its own. A value that is there already stays: the same key means the same content. */
MUST_USE Status cache_put(Call *call, Cache *cache, CacheKey key, void *value);

bool cache_remove(Cache *cache, CacheKey key); /* false when it was not there */
void cache_stats(Cache *cache, CacheStats *ret_stats);

/* One tenant's blobs for partition_compile(); `tenant` must live as long as the source is used. */
typedef struct TenantBlobs {
    Cache *cache;
    Slice tenant;
} TenantBlobs;

BlobSource tenant_blobs_source(TenantBlobs *tenant);
