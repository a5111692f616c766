#include "worker/serve/blob_store.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/crypto/digest.h"
#include "shared/telemetry/log.h"
#include "worker/runtime/device_memory.h"

struct BlobStore {
    Device *device;
    BlobFolder *folder; /* NULL: none */
    Cache *cache;
    Mutex lock;  /* guards `coming` */
    Map *coming; /* keys of the blobs that are coming */
};

struct BlobArrival {
    BlobStore *store;
    BlobFile *file;     /* where the bytes go; NULL: into `blob` */
    TensorBuffer *blob; /* NULL: the bytes go into `file` */
    Sha256State *digest;
    uint64_t size;
    uint64_t seen;
    size_t key_size;
    char key[CACHE_KEY_MAX];
};

BlobStore *
blob_store_new(const BlobStoreOptions *options)
{
    BlobStore *store = memory_new(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    DeviceMemory memory;
    options->device->memory(options->device, &memory);
    mutex_init(&store->lock);
    store->device = options->device;
    store->folder = options->folder;
    store->cache =
        cache_new(&blob_cache_type, options->bytes_max == 0 ? memory.limit / 4 * 3 : options->bytes_max);
    store->coming = map_new();
    if (store->cache == NULL || store->coming == NULL) {
        blob_store_free(store);
        return NULL;
    }
    return store;
}

void
blob_store_free(BlobStore *store)
{
    if (store != NULL) {
        cache_free(store->cache);
        map_free(store->coming);
        mutex_done(&store->lock);
        memory_free(store);
    }
}

TensorBuffer *
blob_store_find(BlobStore *store, CacheKey key)
{
    TensorBuffer *blob = cache_get(store->cache, key);
    return blob == NULL && store->folder != NULL ? blob_folder_find(store->folder, key.tenant, key.digest)
                                                 : blob;
}

void
blob_store_stats(BlobStore *store, CacheStats *ret_stats)
{
    cache_stats(store->cache, ret_stats);
}

bool
blob_store_drop(BlobStore *store)
{
    return cache_drop(store->cache, NULL, NULL);
}

static bool
mark_coming(BlobStore *store, Slice key, bool *ret_is_new)
{
    static char coming;
    mutex_lock(&store->lock);
    *ret_is_new = map_get(store->coming, key) == NULL;
    bool is_marked = !*ret_is_new || map_put(store->coming, key, &coming);
    mutex_unlock(&store->lock);
    return is_marked;
}

void
blob_arrival_end(BlobArrival *arrival)
{
    if (arrival == NULL) {
        return;
    }
    BlobStore *store = arrival->store;
    mutex_lock(&store->lock);
    (void)map_remove(store->coming, slice_of(arrival->key, arrival->key_size));
    mutex_unlock(&store->lock);
    sha256_abandon(arrival->digest);
    blob_file_end(arrival->file);
    tensor_buffer_unref(arrival->blob);
    memory_free(arrival);
}

/* Finds room for the bytes: in the folder, or else in memory. */
static Status
find_room(Call *call, BlobArrival *arrival)
{
    BlobStore *store = arrival->store;
    CacheKey key = cache_key_of_text(slice_of(arrival->key, arrival->key_size));
    if (store->folder != NULL && arrival->size > 0) {
        if (blob_file_begin(call, store->folder, key.tenant, key.digest, arrival->size, &arrival->file) ==
            STATUS_OK) {
            return STATUS_OK;
        }
        log_failure(LOG_WARNING, "a constant has no room in the blob folder, and is kept in memory", call);
    }
    arrival->blob = device_allocate(store->device, arrival->size, NULL);
    return arrival->blob != NULL
               ? STATUS_OK
               : call_fail(call, STATUS_RESOURCE_EXHAUSTED,
                     "no room on the device for a blob of %" PRIu64 " bytes", arrival->size);
}

/* Makes the arrival of a key that is marked as coming: its end takes the mark away. */
static Status
arrival_new(Call *call, BlobStore *store, Slice key, uint64_t size, BlobArrival **ret_arrival)
{
    BlobArrival *arrival = memory_new(1, sizeof *arrival);
    if (arrival == NULL) {
        mutex_lock(&store->lock);
        (void)map_remove(store->coming, key);
        mutex_unlock(&store->lock);
        return call_fail_memory(call, "a blob");
    }
    arrival->store = store;
    arrival->size = size;
    arrival->key_size = key.size;
    memcpy(arrival->key, key.data, key.size);
    arrival->digest = sha256_begin();
    Status status = arrival->digest == NULL ? call_fail_memory(call, "a blob") : find_room(call, arrival);
    if (status != STATUS_OK) {
        blob_arrival_end(arrival);
        return status;
    }
    *ret_arrival = arrival;
    return STATUS_OK;
}

/* Returns what is known of the blob without reading it: a file that turns out to be damaged comes again. */
static BlobState
state_of(const BlobStore *store, CacheKey key)
{
    const BlobFolder *folder = store->folder;
    if (cache_has(store->cache, key) || (folder != NULL && blob_folder_has(folder, key.tenant, key.digest))) {
        return BLOB_IS_HERE;
    }
    return folder != NULL && blob_folder_awaits(folder, key.tenant, key.digest) ? BLOB_IS_COMING
                                                                                : BLOB_IS_NEW;
}

Status
blob_arrival_begin(Call *call, BlobStore *store, CacheKey key, uint64_t size, BlobState *ret_state,
    BlobArrival **ret_arrival)
{
    char text[CACHE_KEY_MAX];
    Slice name = cache_key_text(key, text);
    bool is_new = false;
    if (name.size == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "tenant and digest of a blob are too long");
    }
    *ret_state = state_of(store, key);
    if (*ret_state != BLOB_IS_NEW) {
        return STATUS_OK;
    }
    if (!mark_coming(store, name, &is_new)) {
        return call_fail_memory(call, "a blob");
    }
    *ret_state = is_new ? BLOB_IS_NEW : BLOB_IS_COMING;
    return is_new ? arrival_new(call, store, name, size, ret_arrival) : STATUS_OK;
}

Status
blob_arrival_write(Call *call, BlobArrival *arrival, Slice bytes)
{
    assert(bytes.size <= arrival->size - arrival->seen);
    if (arrival->file != NULL) {
        TRY(blob_file_write(call, arrival->file, bytes));
    } else if (bytes.size > 0) {
        memcpy((char *)arrival->blob->data + arrival->seen, bytes.data, bytes.size);
    }
    sha256_update(arrival->digest, bytes);
    arrival->seen += bytes.size;
    return STATUS_OK;
}

Status
blob_arrival_finish(Call *call, BlobArrival *arrival, bool *ret_is_wrong)
{
    CacheKey key = cache_key_of_text(slice_of(arrival->key, arrival->key_size));
    Sha256 actual;
    char actual_text[SHA256_HEX_SIZE];
    sha256_end(TAKE(arrival->digest), &actual);
    sha256_to_hex(&actual, actual_text);
    *ret_is_wrong = arrival->seen != arrival->size || !slice_equals_string(key.digest, actual_text);
    if (*ret_is_wrong) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the digest of the %" PRIu64 " bytes is %s, not '%.*s'", arrival->seen, actual_text,
            SLICE_PRINT(key.digest));
    }
    return arrival->file != NULL ? blob_file_finish(call, arrival->file)
                                 : cache_put(call, arrival->store->cache, key, arrival->blob);
}

static TensorBuffer *
find_blob(void *context, Slice sha256)
{
    const TenantBlobs *tenant = context;
    return blob_store_find(tenant->store, (CacheKey){.tenant = tenant->tenant, .digest = sha256});
}

BlobSource
tenant_blobs_source(TenantBlobs *tenant)
{
    return (BlobSource){.context = tenant, .find = find_blob};
}
