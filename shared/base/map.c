#include "shared/base/map.h"

#include <assert.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"

/* A slot of a table with open addressing and linear probing. A removed entry leaves a tombstone, whose
 * key.data is NULL and whose value is set. */
typedef struct Slot {
    MapEntry entry;
    uint64_t hash;
} Slot;

struct Map {
    Slot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t used;     /* entries and tombstones */
    size_t count;
};

enum { CAPACITY_MIN = 16 };

static char tombstone;

uint64_t
map_hash(Slice key)
{
    static uint64_t seed;
    uint64_t expected = 0;
    uint64_t hash = atomic_load_relaxed(&seed);
    if (hash == 0) {
        hash = random_nonzero_uint64();
        if (!atomic_compare_exchange_acq_rel(&seed, &expected, hash)) {
            hash = expected;
        }
    }
    /* A folding multiply as in wyhash, eight bytes at a time. */
    const char *bytes = key.data;
    size_t left = key.size;
    while (left > 0) {
        size_t part = left < 8 ? left : 8;
        uint64_t word = left;
        memcpy(&word, bytes, part);
        __extension__ const unsigned __int128 product =
            (unsigned __int128)(hash ^ word) * 0x9e3779b97f4a7c15u;
        hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ key.size;
        bytes += part;
        left -= part;
    }
    return hash ^ hash >> 32;
}

Map *
map_new(void)
{
    return memory_new(1, sizeof(Map));
}

static bool
slot_is_live(const Slot *slot)
{
    return slot->entry.value != NULL && slot->entry.value != &tombstone;
}

static void
key_free(Slot *slot)
{
    memory_free(without_const(slot->entry.key.data));
}

void
map_free(Map *map)
{
    if (map == NULL) {
        return;
    }
    for (size_t index = 0; index < map->capacity; index++) {
        if (slot_is_live(&map->slots[index])) {
            key_free(&map->slots[index]);
        }
    }
    memory_free(map->slots);
    memory_free(map);
}

size_t
map_count(const Map *map)
{
    return map->count;
}

/* Returns the slot of the key, or the empty one where the probing ended. */
static Slot *
slot_find(const Map *map, Slice key, uint64_t hash)
{
    assert(map->used < map->capacity); /* an empty slot ends the probing */

    size_t index = (size_t)hash & (map->capacity - 1);
    while (map->slots[index].entry.value != NULL) {
        Slot *slot = &map->slots[index];
        if (slot->hash == hash && slot_is_live(slot) && slice_equal(slot->entry.key, key)) {
            return slot;
        }
        index = (index + 1) & (map->capacity - 1);
    }
    return &map->slots[index];
}

void *
map_get(const Map *map, Slice key)
{
    return map->count == 0 ? NULL : slot_find(map, key, map_hash(key))->entry.value;
}

static bool
map_rebuild(Map *map)
{
    size_t capacity = CAPACITY_MIN;
    while (capacity < (map->count + 1) * 2) {
        capacity *= 2;
    }
    Slot *slots = memory_new(capacity, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    Map larger = {.slots = slots, .capacity = capacity, .used = map->count, .count = map->count};
    for (size_t index = 0; index < map->capacity; index++) {
        const Slot *slot = &map->slots[index];
        if (slot_is_live(slot)) {
            *slot_find(&larger, slot->entry.key, slot->hash) = *slot;
        }
    }
    memory_free(map->slots);
    *map = larger;
    return true;
}

bool
map_put(Map *map, Slice key, void *value)
{
    assert(map != NULL);
    assert(value != NULL && value != &tombstone);

    uint64_t hash = map_hash(key);
    if ((map->used + 1) * 4 > map->capacity * 3 && !map_rebuild(map)) {
        return false;
    }
    Slot *slot = slot_find(map, key, hash);
    if (slot->entry.value != NULL) {
        slot->entry.value = value;
        return true;
    }
    char *copy = memory_new(1, key.size + 1);
    if (copy == NULL) {
        return false;
    }
    if (key.size > 0) {
        memcpy(copy, key.data, key.size);
    }
    *slot = (Slot){.entry = {.key = slice_of(copy, key.size), .value = value}, .hash = hash};
    map->used++;
    map->count++;
    return true;
}

void *
map_remove(Map *map, Slice key)
{
    assert(map != NULL);

    if (map->count == 0) {
        return NULL;
    }
    Slot *slot = slot_find(map, key, map_hash(key));
    void *value = slot->entry.value;
    if (value == NULL) {
        return NULL;
    }
    key_free(slot);
    slot->entry = (MapEntry){.value = &tombstone};
    map->count--;
    return value;
}

const MapEntry *
map_next(const Map *map, size_t *cursor)
{
    assert(cursor != NULL);

    while (map != NULL && *cursor < map->capacity) {
        const Slot *slot = &map->slots[(*cursor)++];
        if (slot_is_live(slot)) {
            return &slot->entry;
        }
    }
    return NULL;
}
