#include "shared/base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "shared/base/memory.h"

enum { CHUNK_SIZE_MIN = 4096, CHUNK_SIZE_MAX = 256 * 1024, CHUNK_SIZE_KEPT = 64 * 1024 };

typedef struct Chunk {
    struct Chunk *previous;
    size_t used;
    size_t capacity;
    alignas(max_align_t) unsigned char bytes[];
} Chunk;

typedef struct Deferred {
    struct Deferred *previous;
    ArenaRelease release;
    void *resource;
} Deferred;

struct Arena {
    Chunk *chunk;
    Deferred *deferred;
    size_t size;
    size_t size_max;
};

Arena *
arena_new(size_t size_max)
{
    assert(size_max > 0);

    Arena *arena = memory_new(1, sizeof *arena);
    if (arena != NULL) {
        arena->size_max = size_max;
    }
    return arena;
}

static void
deferred_release(Arena *arena)
{
    for (Deferred *deferred = arena->deferred; deferred != NULL; deferred = deferred->previous) {
        deferred->release(deferred->resource);
    }
    arena->deferred = NULL;
}

static void
chunks_free(Chunk *chunk)
{
    while (chunk != NULL) {
        Chunk *previous = chunk->previous;
        memory_free(chunk);
        chunk = previous;
    }
}

void
arena_free(Arena *arena)
{
    if (arena == NULL) {
        return;
    }
    deferred_release(arena);
    chunks_free(arena->chunk);
    memory_free(arena);
}

/* Keeps the newest chunk, which is the largest: a cleared arena grows to what its calls need, up to
 * CHUNK_SIZE_KEPT. */
void
arena_clear(Arena *arena)
{
    if (arena == NULL) {
        return;
    }
    deferred_release(arena);
    Chunk *kept = arena->chunk;
    if (kept != NULL && kept->capacity > CHUNK_SIZE_KEPT) {
        chunks_free(kept);
        kept = NULL;
    } else if (kept != NULL) {
        chunks_free(TAKE(kept->previous));
        memset(kept->bytes, 0, kept->used);
        kept->used = 0;
    }
    arena->chunk = kept;
    arena->size = 0;
}

static Chunk *
chunk_add(Arena *arena, size_t size)
{
    size_t doubled = arena->chunk == NULL ? CHUNK_SIZE_MIN : arena->chunk->capacity * 2;
    size_t usual = doubled < CHUNK_SIZE_MAX ? doubled : CHUNK_SIZE_MAX;
    size_t capacity = size > usual ? size : usual;
    Chunk *chunk = memory_new(1, sizeof *chunk + capacity);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->capacity = capacity;
    chunk->previous = arena->chunk;
    arena->chunk = chunk;
    return chunk;
}

void *
arena_alloc(Arena *arena, size_t size)
{
    assert(arena != NULL);
    assert(arena->size <= arena->size_max);

    if (size > arena->size_max - arena->size) {
        return NULL;
    }
    size_t alignment = alignof(max_align_t);
    size_t rounded = (size + alignment - 1) / alignment * alignment;
    Chunk *chunk = arena->chunk;
    if (chunk == NULL || rounded > chunk->capacity - chunk->used) {
        chunk = chunk_add(arena, rounded);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += rounded;
    arena->size += size;
    return memory;
}

void *
arena_defer(Arena *arena, ArenaRelease release, void *resource)
{
    assert(release != NULL);

    Deferred *deferred = arena_alloc(arena, sizeof *deferred);
    if (deferred == NULL) {
        return NULL;
    }
    *deferred = (Deferred){.previous = arena->deferred, .release = release, .resource = resource};
    arena->deferred = deferred;
    return resource;
}

size_t
arena_size(const Arena *arena)
{
    assert(arena != NULL);

    return arena->size;
}
