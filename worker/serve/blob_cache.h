/* Large constants by tenant and SHA-256, bounded in bytes (cache.h). A tenant sees its own blobs only:
 * knowing a digest is no right to the bytes.
 *
 * The caller has checked that the bytes have this digest. */
#pragma once

#include "worker/runtime/partition/partition.h"
#include "worker/serve/cache.h"

typedef struct BlobCache BlobCache;

/* Two texts without '/'; together at most BLOB_KEY_MAX bytes. */
typedef struct BlobKey {
    Slice tenant;
    Slice sha256; /* lower-case hex */
} BlobKey;

enum { BLOB_KEY_MAX = 255 };

MUST_USE BlobCache *blob_cache_new(uint64_t bytes_max); /* NULL without memory */
void blob_cache_free(BlobCache *cache);

TensorBuffer *blob_cache_get(BlobCache *cache, BlobKey key); /* a new reference, or NULL */
bool blob_cache_has(BlobCache *cache, BlobKey key);
MUST_USE Status blob_cache_put(Call *call, BlobCache *cache, BlobKey key, TensorBuffer *blob);
bool blob_cache_remove(BlobCache *cache, BlobKey key);
void blob_cache_stats(BlobCache *cache, CacheStats *ret_stats);

/* One tenant's blobs for partition_compile(); `tenant` must live as long as the source is used. */
typedef struct TenantBlobs {
    BlobCache *cache;
    Slice tenant;
} TenantBlobs;

BlobSource blob_cache_source(TenantBlobs *tenant);
