#include "worker/serve/partition_cache.h"

static void
ref(void *partition)
{
    (void)partition_ref(partition);
}

static void
unref(void *partition)
{
    partition_unref(partition);
}

static const CacheType TYPE = {.name = "partition", .ref = ref, .unref = unref};

static Cache *
inside(PartitionCache *cache)
{
    return (Cache *)cache;
}

PartitionCache *
partition_cache_new(uint64_t bytes_max)
{
    return (PartitionCache *)cache_new(&TYPE, bytes_max);
}

void
partition_cache_free(PartitionCache *cache)
{
    cache_free(inside(cache));
}

Partition *
partition_cache_get(PartitionCache *cache, Slice key)
{
    return cache_get(inside(cache), key);
}

Status
partition_cache_put(Call *call, PartitionCache *cache, Slice key, Partition *partition)
{
    return cache_put(call, inside(cache), key, partition, partition_size(partition));
}

bool
partition_cache_remove(PartitionCache *cache, Slice key)
{
    return cache_remove(inside(cache), key);
}

void
partition_cache_stats(PartitionCache *cache, CacheStats *ret_stats)
{
    cache_stats(inside(cache), ret_stats);
}

void
partition_cache_each(
    PartitionCache *cache, Slice prefix, void (*visit)(void *context, Slice key), void *context)
{
    cache_each(inside(cache), prefix, visit, context);
}
