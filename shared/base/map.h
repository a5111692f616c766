/* A hash table from byte strings to pointers. Keys are compared in full; the hash is seeded per process,
 * so that nobody outside can choose keys that collide.
 *
 * Ownership: the map copies its keys and owns the copies; values belong to the caller.
 * Threads:   one at a time; readers may share a map that nobody changes.
 * Errors:    map_put() returns false when there is no memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/compiler.h"
#include "shared/base/slice.h"

typedef struct Map Map;

typedef struct MapEntry {
    Slice key;
    void *value;
} MapEntry;

MUST_USE Map *map_new(void);
void map_free(Map *map); /* NULL is allowed; values are not touched */

size_t map_count(const Map *map);
void *map_get(const Map *map, Slice key); /* NULL when there is none */

/* Inserts or replaces. Returns false, with the map unchanged, when there is no memory. `value` is not
 * NULL. */
MUST_USE bool map_put(Map *map, Slice key, void *value);

/* Returns the removed value, or NULL when there was none. */
void *map_remove(Map *map, Slice key);

/* Walks all entries in no particular order, from *cursor = 0 until NULL. Removing the entry just returned
 * is allowed, any other change is not. `map` may be NULL. */
const MapEntry *map_next(const Map *map, size_t *cursor);

/* Returns the seeded hash, for tables that keep their keys themselves. It differs from process to process. */
uint64_t map_hash(Slice key);

static inline void
map_freep(Map **map)
{
    map_free(*map);
}
#define AUTO_MAP CLEANUP(map_freep) Map *
