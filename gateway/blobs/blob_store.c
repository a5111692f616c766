#include "gateway/blobs/blob_store.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

struct BlobStore {
    const Limits *limits;
    uint64_t inline_size;
    BlobBackend *backend; /* NULL: PostgreSQL */
    Mutex mutex;          /* guards `uploads` */
    ListLink uploads;     /* UploadSlots */
};

static Status
open_folder(Call *call, const BlobStoreOptions *options, const char *path, BlobBackend **ret_backend)
{
    (void)options;
    return folder_backend_open(call, path, ret_backend);
}

static Status
open_s3(Call *call, const BlobStoreOptions *options, const char *path, BlobBackend **ret_backend)
{
    return s3_backend_open(call, &options->s3, path, ret_backend);
}

typedef struct BackendKind {
    const char *prefix;
    Status (*open)(Call *call, const BlobStoreOptions *options, const char *rest, BlobBackend **ret_backend);
} BackendKind;

static const BackendKind kinds[] = {
    {"folder:", open_folder},
    {"s3://", open_s3},
};

static Status
open_backend(Call *call, const BlobStoreOptions *options, BlobBackend **ret_backend)
{
    Slice where = slice_from_string(options->where);
    if (slice_equals_string(where, blob_backend_postgres.scheme)) {
        return STATUS_OK;
    }
    for (size_t index = 0; index < COUNT_OF(kinds); index++) {
        const BackendKind *kind = &kinds[index];
        if (slice_starts_with(where, slice_from_string(kind->prefix))) {
            return kind->open(call, options, options->where + strlen(kind->prefix), ret_backend);
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "--blob-store is '%s', it can be postgres, folder:/path or s3://bucket/prefix", options->where);
}

Status
blob_store_open(Call *call, const BlobStoreOptions *options, BlobStore **ret_store)
{
    assert(options->where != NULL && options->limits != NULL);

    BlobStore *store = memory_new(1, sizeof *store);
    if (store == NULL) {
        return call_fail_memory(call, "the blob store");
    }
    store->limits = options->limits;
    store->inline_size = options->inline_size;
    mutex_init(&store->mutex);
    list_init(&store->uploads);
    Status status = open_backend(call, options, &store->backend);
    if (status != STATUS_OK) {
        blob_store_close(store);
        return status;
    }
    *ret_store = store;
    return STATUS_OK;
}

void
blob_store_close(BlobStore *store)
{
    if (store == NULL) {
        return;
    }
    assert(list_is_empty(&store->uploads));
    if (store->backend != NULL) {
        store->backend->free(store->backend);
    }
    mutex_done(&store->mutex);
    memory_free(store);
}

const Limits *
blob_store_limits(const BlobStore *store)
{
    return store->limits;
}

BlobBackend *
blob_store_backend(const BlobStore *store)
{
    return store->backend;
}

BlobBackend *
blob_store_backend_for(const BlobStore *store, uint64_t size)
{
    return store->backend == NULL || size <= store->inline_size ? &blob_backend_postgres : store->backend;
}

static size_t
count_uploads(const BlobStore *store, TenantId tenant, size_t *ret_of_tenant)
{
    size_t count = 0;
    *ret_of_tenant = 0;
    LIST_EACH(&store->uploads, link)
    {
        const UploadSlot *slot = LIST_ITEM(link, UploadSlot, link);
        count++;
        *ret_of_tenant += uuid_equal(slot->tenant.value, tenant.value) ? 1 : 0;
    }
    return count;
}

Status
blob_store_enter(Call *call, BlobStore *store, UploadSlot *slot)
{
    const Limits *limits = store->limits;
    size_t of_tenant = 0;
    mutex_lock(&store->mutex);
    size_t count = count_uploads(store, slot->tenant, &of_tenant);
    bool has_room = count < limits->uploads && of_tenant < limits->tenant_uploads;
    if (has_room) {
        list_append(&store->uploads, &slot->link);
    }
    mutex_unlock(&store->mutex);
    if (has_room) {
        return STATUS_OK;
    }
    return call_fail(call, STATUS_UNAVAILABLE,
        "this gateway has %zu uploads under way, %zu of them the tenant's; the limits are uploads %llu and "
        "tenant_uploads %llu; try again soon",
        count, of_tenant, (unsigned long long)limits->uploads, (unsigned long long)limits->tenant_uploads);
}

void
blob_store_leave(BlobStore *store, UploadSlot *slot)
{
    mutex_lock(&store->mutex);
    list_remove(&slot->link);
    mutex_unlock(&store->mutex);
}
