/* Registered partitions by digest, bounded in bytes (cache.h). The key is the caller's: a digest alone, or
 * with the session or tenant that may use it in front. */
#pragma once

#include "worker/runtime/partition/partition.h"
#include "worker/serve/cache.h"

typedef struct PartitionCache PartitionCache;

MUST_USE PartitionCache *partition_cache_new(uint64_t bytes_max); /* NULL without memory */
void partition_cache_free(PartitionCache *cache);

Partition *partition_cache_get(PartitionCache *cache, Slice key); /* a new reference, or NULL */
MUST_USE Status partition_cache_put(Call *call, PartitionCache *cache, Slice key, Partition *partition);
bool partition_cache_remove(PartitionCache *cache, Slice key);
void partition_cache_stats(PartitionCache *cache, CacheStats *ret_stats);
void partition_cache_each(
    PartitionCache *cache, Slice prefix, void (*visit)(void *context, Slice key), void *context);
