#include "worker/serve/blob_cache.h"

static void
ref(void *blob)
{
    (void)tensor_buffer_ref(blob);
}

static void
unref(void *blob)
{
    tensor_buffer_unref(blob);
}

static const CacheType TYPE = {.name = "blob", .ref = ref, .unref = unref};

static Cache *
inside(BlobCache *cache)
{
    return (Cache *)cache;
}

/* "tenant/sha256" in `ret_text`; an empty key, which nothing has, when it is too long. */
static Slice
key_text(BlobKey key, char ret_text[BLOB_KEY_MAX + 1])
{
    const size_t size = key.tenant.size + 1 + key.sha256.size;
    if (key.tenant.size > BLOB_KEY_MAX || key.sha256.size > BLOB_KEY_MAX || size > BLOB_KEY_MAX) {
        return slice_of(ret_text, 0);
    }
    memcpy(ret_text, key.tenant.data, key.tenant.size);
    ret_text[key.tenant.size] = '/';
    memcpy(ret_text + key.tenant.size + 1, key.sha256.data, key.sha256.size);
    return slice_of(ret_text, size);
}

BlobCache *
blob_cache_new(uint64_t bytes_max)
{
    return (BlobCache *)cache_new(&TYPE, bytes_max);
}

void
blob_cache_free(BlobCache *cache)
{
    cache_free(inside(cache));
}

TensorBuffer *
blob_cache_get(BlobCache *cache, BlobKey key)
{
    char text[BLOB_KEY_MAX + 1];
    return cache_get(inside(cache), key_text(key, text));
}

bool
blob_cache_has(BlobCache *cache, BlobKey key)
{
    char text[BLOB_KEY_MAX + 1];
    return cache_has(inside(cache), key_text(key, text));
}

Status
blob_cache_put(Call *call, BlobCache *cache, BlobKey key, TensorBuffer *blob)
{
    char bytes[BLOB_KEY_MAX + 1];
    const Slice text = key_text(key, bytes);
    if (text.size == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "tenant and digest of a blob must have at most %d bytes together, not %zu", BLOB_KEY_MAX - 1,
            key.tenant.size + key.sha256.size);
    }
    return cache_put(call, inside(cache), text, blob, blob->size);
}

bool
blob_cache_remove(BlobCache *cache, BlobKey key)
{
    char text[BLOB_KEY_MAX + 1];
    return cache_remove(inside(cache), key_text(key, text));
}

void
blob_cache_stats(BlobCache *cache, CacheStats *ret_stats)
{
    cache_stats(inside(cache), ret_stats);
}

static TensorBuffer *
source_find(void *context, Slice sha256)
{
    const TenantBlobs *tenant = context;
    return blob_cache_get(tenant->cache, (BlobKey){.tenant = tenant->tenant, .sha256 = sha256});
}

BlobSource
blob_cache_source(TenantBlobs *tenant)
{
    return (BlobSource){.context = tenant, .find = source_find};
}
