/* The large constants of a worker, by tenant and digest: those in memory, those in the folder that the
 * workers of a host may share, and those that are just coming. Each comes once at a time, whoever sends it,
 * and is kept only when its bytes have the digest: in the folder when that has room, else in memory.
 *
 * Constants that partitions use stay; of the others the least recently used make room, for new constants and
 * for whatever else needs the device's memory: by its keeper, which calls blob_store_drop().
 *
 * Ownership: the store holds one reference to each blob; blob_store_find() returns another.
 * Threads:   any; a BlobArrival one at a time. Neither may run on a loop's thread: blob_store_find() may read
 *            a whole file, and an arrival waits for memory and disk (blob_intake.h).
 * Errors:    RESOURCE_EXHAUSTED without memory on the device, and for a blob larger than the store;
 *            INVALID_ARGUMENT for bytes of another digest. */
#pragma once

#include "worker/runtime/device.h"
#include "worker/serve/blob_folder.h"
#include "worker/serve/cache.h"

typedef struct BlobStore BlobStore;
typedef struct BlobArrival BlobArrival;

typedef struct BlobStoreOptions {
    Device *device;
    uint64_t bytes_max; /* of constants in memory; 0: three quarters of the device's */
    BlobFolder *folder; /* NULL: none. It outlives the store */
} BlobStoreOptions;

MUST_USE BlobStore *blob_store_new(const BlobStoreOptions *options); /* NULL without memory */
void blob_store_free(BlobStore *store);                              /* NULL is allowed */

/* Returns a new reference, or NULL when the blob is not here. */
TensorBuffer *blob_store_find(BlobStore *store, CacheKey key);
void blob_store_stats(BlobStore *store, CacheStats *ret_stats);

/* Drops the blob that was used longest ago, of those that nobody uses now. False: there is none. */
bool blob_store_drop(BlobStore *store);

typedef enum BlobState {
    BLOB_IS_NEW,    /* an arrival has begun */
    BLOB_IS_HERE,   /* nothing needs to come */
    BLOB_IS_COMING, /* from somebody else */
} BlobState;

/* Begins an arrival of `size` bytes, which blob_arrival_end() ends, unless the blob is here or coming. */
MUST_USE Status blob_arrival_begin(Call *call, BlobStore *store, CacheKey key, uint64_t size,
    BlobState *ret_state, BlobArrival **ret_arrival);

/* Takes the next bytes, never more than `size` in all. */
MUST_USE Status blob_arrival_write(Call *call, BlobArrival *arrival, Slice bytes);

/* Checks the digest of what has come and keeps the blob. *ret_is_wrong: it has another digest. */
MUST_USE Status blob_arrival_finish(Call *call, BlobArrival *arrival, bool *ret_is_wrong);
void blob_arrival_end(BlobArrival *arrival); /* NULL is allowed */

/* The source of one tenant's blobs for partition_compile(). `tenant` must live as long as the source is
 * used. */
typedef struct TenantBlobs {
    BlobStore *store;
    Slice tenant;
} TenantBlobs;

BlobSource tenant_blobs_source(TenantBlobs *tenant);
