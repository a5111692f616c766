/* A folder in which a worker finds again what another, or it itself, has compiled. What is no whole file of
 * ours is taken for absent; what cannot be written is made again next time.
 *
 * Threads: any; several workers may share a folder. */
#pragma once

#include "shared/base/buffer.h"

typedef struct FusionCache {
    const char *folder; /* NULL: nothing is kept */
} FusionCache;

/* `name` is that of a file. */
bool fusion_cache_read(const FusionCache *cache, const char *name, Buffer *ret_bytes);
void fusion_cache_write(const FusionCache *cache, const char *name, Slice bytes);
