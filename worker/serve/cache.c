#include "worker/serve/cache.h"

#include <inttypes.h>

#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

typedef struct CacheEntry {
    ListLink link; /* in order of use, the latest last */
    void *value;
    uint64_t bytes;
    size_t key_size;
    char key[];
} CacheEntry;

struct Cache {
    const CacheType *type;
    Mutex lock;
    Map *entries; /* key → CacheEntry */
    ListLink uses;
    CacheStats stats;
};

Cache *
cache_new(const CacheType *type, uint64_t bytes_max)
{
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

/* Out of map and list, into `gone`: values are given back without the lock, for that may take long. */
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
cache_get(Cache *cache, Slice key)
{
    void *value = NULL;
    mutex_lock(&cache->lock);
    CacheEntry *entry = map_get(cache->entries, key);
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
cache_has(Cache *cache, Slice key)
{
    mutex_lock(&cache->lock);
    const bool is_there = map_get(cache->entries, key) != NULL;
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

/* Makes room for `bytes` more. */
static void
cache_evict(Cache *cache, uint64_t bytes, ListLink *gone)
{
    while (cache->stats.bytes + bytes > cache->stats.bytes_max) {
        entry_remove(cache, LIST_ITEM(cache->uses.next, CacheEntry, link), gone);
        cache->stats.evictions++;
    }
}

Status
cache_put(Call *call, Cache *cache, Slice key, void *value, uint64_t bytes)
{
    if (bytes > cache->stats.bytes_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "a %s of %" PRIu64 " bytes is larger than the %" PRIu64 " bytes kept for all of them",
            cache->type->name, bytes, cache->stats.bytes_max);
    }
    CacheEntry *entry = entry_new(cache, key, value, bytes);
    if (entry == NULL) {
        return call_fail_memory(call, cache->type->name);
    }
    ListLink gone;
    list_init(&gone);
    mutex_lock(&cache->lock);
    const bool is_new = map_get(cache->entries, key) == NULL;
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
cache_remove(Cache *cache, Slice key)
{
    ListLink gone;
    list_init(&gone);
    mutex_lock(&cache->lock);
    CacheEntry *entry = map_get(cache->entries, key);
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

void
cache_each(Cache *cache, Slice prefix, void (*visit)(void *context, Slice key), void *context)
{
    mutex_lock(&cache->lock);
    for (ListLink *link = cache->uses.previous; link != &cache->uses; link = link->previous) {
        const CacheEntry *entry = LIST_ITEM(link, CacheEntry, link);
        if (slice_starts_with(entry_key(entry), prefix)) {
            visit(context, entry_key(entry));
        }
    }
    mutex_unlock(&cache->lock);
}
