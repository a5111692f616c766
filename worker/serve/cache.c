#include "worker/serve/cache.h"

#include <assert.h>

#include <inttypes.h>

#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

typedef struct CacheEntry {
    ListLink link; /* link in `uses`, least recently used first */
    void *value;
    uint64_t bytes;
    size_t key_size;
    char key[];
} CacheEntry;

struct Cache {
    const CacheType *type;
    Mutex lock;
    Map *entries; /* CacheEntry by key */
    ListLink uses;
    CacheStats stats;
};

static void
ref_partition(void *partition)
{
    (void)partition_ref(partition);
}

static void
unref_partition(void *partition)
{
    partition_unref(partition);
}

static uint64_t
size_of_partition(const void *partition)
{
    return partition_size(partition);
}

static bool
is_partition_used(const void *partition)
{
    return partition_is_used(partition);
}

const CacheType partition_cache_type = {
    .name = "partition",
    .setting = "partition-cache",
    .ref = ref_partition,
    .unref = unref_partition,
    .size = size_of_partition,
    .is_used = is_partition_used,
};

static void
ref_blob(void *blob)
{
    (void)tensor_buffer_ref(blob);
}

static void
unref_blob(void *blob)
{
    tensor_buffer_unref(blob);
}

static uint64_t
size_of_blob(const void *blob)
{
    return ((const TensorBuffer *)blob)->size;
}

static bool
is_blob_used(const void *blob)
{
    return atomic_load_acquire(&((const TensorBuffer *)blob)->reference_count) > 1;
}

const CacheType blob_cache_type = {
    .name = "blob",
    .setting = "blob-cache",
    .ref = ref_blob,
    .unref = unref_blob,
    .size = size_of_blob,
    .is_used = is_blob_used,
    .keeps_used = true,
};

Slice
cache_key_text(CacheKey key, char ret_text[CACHE_KEY_MAX])
{
    size_t size = key.tenant.size + 1 + key.digest.size;
    if (key.tenant.size > CACHE_KEY_MAX || key.digest.size > CACHE_KEY_MAX || size > CACHE_KEY_MAX) {
        return slice_of(ret_text, 0);
    }
    if (key.tenant.size > 0) {
        memcpy(ret_text, key.tenant.data, key.tenant.size);
    }
    ret_text[key.tenant.size] = '/';
    if (key.digest.size > 0) {
        memcpy(ret_text + key.tenant.size + 1, key.digest.data, key.digest.size);
    }
    return slice_of(ret_text, size);
}

CacheKey
cache_key_of_text(Slice text)
{
    size_t slash = slice_find(text, '/');
    return (CacheKey){.tenant = slice_part(text, 0, slash), .digest = slice_part(text, slash + 1, text.size)};
}

Cache *
cache_new(const CacheType *type, uint64_t bytes_max)
{
    assert(type != NULL);
    Cache *cache = memory_new(1, sizeof *cache);
    Map *entries = map_new();
    if (cache == NULL || entries == NULL) {
        memory_free(cache);
        map_free(entries);
        return NULL;
    }
    cache->type = type;
    cache->entries = entries;
    cache->stats.bytes_max = bytes_max;
    list_init(&cache->uses);
    mutex_init(&cache->lock);
    return cache;
}

static void
entry_free(const Cache *cache, CacheEntry *entry)
{
    cache->type->unref(entry->value);
    memory_free(entry);
}

static Slice
entry_key(const CacheEntry *entry)
{
    return slice_of(entry->key, entry->key_size);
}

/* Moves an entry from the map and the list to `gone`. The caller frees it after unlocking, because
 * releasing a value may take long. */
static void
entry_remove(Cache *cache, CacheEntry *entry, ListLink *gone)
{
    map_remove(cache->entries, entry_key(entry));
    list_remove(&entry->link);
    list_append(gone, &entry->link);
    cache->stats.bytes -= entry->bytes;
}

static void
entries_free(const Cache *cache, ListLink *gone)
{
    LIST_EACH(gone, link)
    {
        entry_free(cache, LIST_ITEM(link, CacheEntry, link));
    }
}

void
cache_free(Cache *cache)
{
    if (cache == NULL) {
        return;
    }
    entries_free(cache, &cache->uses);
    map_free(cache->entries);
    mutex_done(&cache->lock);
    memory_free(cache);
}

void *
cache_get(Cache *cache, CacheKey key)
{
    char text[CACHE_KEY_MAX];
    Slice name = cache_key_text(key, text);
    void *value = NULL;
    mutex_lock(&cache->lock);
    CacheEntry *entry = map_get(cache->entries, name);
    if (entry != NULL) {
        list_remove(&entry->link);
        list_append(&cache->uses, &entry->link);
        cache->stats.hits++;
        value = entry->value;
        cache->type->ref(value);
    } else {
        cache->stats.misses++;
    }
    mutex_unlock(&cache->lock);
    return value;
}

bool
cache_has(Cache *cache, CacheKey key)
{
    char text[CACHE_KEY_MAX];
    Slice name = cache_key_text(key, text);
    mutex_lock(&cache->lock);
    bool is_there = map_get(cache->entries, name) != NULL;
    mutex_unlock(&cache->lock);
    return is_there;
}

static CacheEntry *
entry_new(const Cache *cache, Slice key, void *value, uint64_t bytes)
{
    CacheEntry *entry = memory_new(1, sizeof *entry + key.size);
    if (entry != NULL) {
        list_init(&entry->link);
        memcpy(entry->key, key.data, key.size);
        entry->key_size = key.size;
        entry->bytes = bytes;
        entry->value = value;
        cache->type->ref(value);
    }
    return entry;
}

/* Removes the least recently used entries, as far as they may go, until `bytes` more fit. */
static void
cache_evict(Cache *cache, uint64_t bytes, ListLink *gone)
{
    LIST_EACH(&cache->uses, link)
    {
        CacheEntry *entry = LIST_ITEM(link, CacheEntry, link);
        if (cache->stats.bytes + bytes <= cache->stats.bytes_max) {
            return;
        }
        if (!cache->type->keeps_used || !cache->type->is_used(entry->value)) {
            entry_remove(cache, entry, gone);
            cache->stats.evictions++;
        }
    }
}

Status
cache_put(Call *call, Cache *cache, CacheKey key, void *value)
{
    char text[CACHE_KEY_MAX];
    Slice name = cache_key_text(key, text);
    uint64_t bytes = cache->type->size(value);
    if (name.size == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "tenant and digest of a %s must have at most %d bytes together, not %zu", cache->type->name,
            CACHE_KEY_MAX - 1, key.tenant.size + key.digest.size);
    }
    if (bytes > cache->stats.bytes_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "a %s of %" PRIu64 " bytes is larger than the %" PRIu64
            " bytes that the worker keeps for all of them (its setting '%s')",
            cache->type->name, bytes, cache->stats.bytes_max, cache->type->setting);
    }
    CacheEntry *entry = entry_new(cache, name, value, bytes);
    if (entry == NULL) {
        return call_fail_memory(call, cache->type->name);
    }
    ListLink gone;
    list_init(&gone);
    mutex_lock(&cache->lock);
    bool is_new = map_get(cache->entries, name) == NULL;
    bool is_kept = false;
    if (is_new) {
        cache_evict(cache, bytes, &gone);
        is_kept = map_put(cache->entries, entry_key(entry), entry);
    }
    if (is_kept) {
        list_append(&cache->uses, &entry->link);
        cache->stats.bytes += bytes;
    }
    mutex_unlock(&cache->lock);
    entries_free(cache, &gone);
    if (!is_kept) {
        entry_free(cache, entry);
    }
    return is_kept || !is_new ? STATUS_OK : call_fail_memory(call, cache->type->name);
}

bool
cache_drop(Cache *cache, bool (*is_worthwhile)(const void *value, const void *context), const void *context)
{
    ListLink gone;
    list_init(&gone);
    mutex_lock(&cache->lock);
    LIST_EACH(&cache->uses, link)
    {
        CacheEntry *entry = LIST_ITEM(link, CacheEntry, link);
        if (list_is_empty(&gone) && !cache->type->is_used(entry->value) &&
            (is_worthwhile == NULL || is_worthwhile(entry->value, context))) {
            entry_remove(cache, entry, &gone);
            cache->stats.evictions++;
        }
    }
    bool has_dropped = !list_is_empty(&gone);
    mutex_unlock(&cache->lock);
    entries_free(cache, &gone);
    return has_dropped;
}

bool
cache_remove(Cache *cache, CacheKey key)
{
    char text[CACHE_KEY_MAX];
    Slice name = cache_key_text(key, text);
    ListLink gone;
    list_init(&gone);
    mutex_lock(&cache->lock);
    CacheEntry *entry = map_get(cache->entries, name);
    if (entry != NULL) {
        entry_remove(cache, entry, &gone);
    }
    mutex_unlock(&cache->lock);
    entries_free(cache, &gone);
    return entry != NULL;
}

void
cache_stats(Cache *cache, CacheStats *ret_stats)
{
    mutex_lock(&cache->lock);
    *ret_stats = cache->stats;
    ret_stats->count = map_count(cache->entries);
    mutex_unlock(&cache->lock);
}
