#include "shared/base/spare_memory.h"

#include <assert.h>
#include <stdbool.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

/* Smaller blocks are the allocator's, which does not give them back to the system one by one. */
enum { BLOCK_SIZE_MIN = 256 * 1024, BLOCK_SIZE_MAX = 8 * 1024 * 1024, BLOCKS_MAX = 16 };

typedef struct SpareBlock {
    void *memory;
    size_t size;
    bool is_old; /* a trim has seen it */
} SpareBlock;

typedef struct SpareMemory {
    Mutex mutex;
    size_t size_max;
    size_t size;
    size_t count;
    SpareBlock blocks[BLOCKS_MAX]; /* those freed last behind the others */
} SpareMemory;

static SpareMemory spare = {.mutex = MUTEX_INITIALIZER};

/* Takes the block out, which leaves the others in their order. */
static void *
take_block(size_t index)
{
    assert(index < spare.count);

    void *memory = spare.blocks[index].memory;
    spare.size -= spare.blocks[index].size;
    spare.count--;
    for (size_t next = index; next < spare.count; next++) {
        spare.blocks[next] = spare.blocks[next + 1];
    }
    return memory;
}

static bool
is_kept_size(size_t size)
{
    return size >= BLOCK_SIZE_MIN && size <= BLOCK_SIZE_MAX;
}

/* Returns the size that blocks for `size` bytes have, at most an eighth more: tensors of nearly the same size
 * share them. Pages behind what is used are never mapped. */
static size_t
block_size(size_t size)
{
    size_t step = BLOCK_SIZE_MIN / 8;
    while (step * 16 < size) {
        step *= 2;
    }
    return (size + step - 1) / step * step;
}

/* Takes the block of this size that was freed last: its bytes are the likeliest to be in a cache. */
static void *
take_fitting(size_t size)
{
    for (size_t left = spare.count; left > 0; left--) {
        if (spare.blocks[left - 1].size == size) {
            return take_block(left - 1);
        }
    }
    return NULL;
}

void *
spare_memory_new(size_t size)
{
    if (!is_kept_size(size)) {
        return memory_new_aligned(size);
    }
    mutex_lock(&spare.mutex);
    void *memory = take_fitting(block_size(size));
    mutex_unlock(&spare.mutex);
    return memory != NULL ? memory : memory_new_aligned(block_size(size));
}

static bool
keep_block(void *memory, size_t size)
{
    bool has_room = spare.count < BLOCKS_MAX && spare.size + size <= spare.size_max;
    if (has_room) {
        spare.blocks[spare.count++] = (SpareBlock){.memory = memory, .size = size};
        spare.size += size;
    }
    return has_room;
}

void
spare_memory_free(void *memory, size_t size)
{
    bool is_kept = false;
    if (memory != NULL && is_kept_size(size)) {
        mutex_lock(&spare.mutex);
        is_kept = keep_block(memory, block_size(size));
        mutex_unlock(&spare.mutex);
    }
    if (!is_kept) {
        memory_free(memory);
    }
}

/* Takes the first block out if nobody has taken it since the last trim. Blocks are older the further in front
 * they stand. */
static void *
take_old(void)
{
    return spare.count > 0 && spare.blocks[0].is_old ? take_block(0) : NULL;
}

static void
note_age(void)
{
    for (size_t index = 0; index < spare.count; index++) {
        spare.blocks[index].is_old = true;
    }
}

void
spare_memory_trim(void)
{
    mutex_lock(&spare.mutex);
    for (void *memory = take_old(); memory != NULL; memory = take_old()) {
        memory_free(memory);
    }
    note_age();
    mutex_unlock(&spare.mutex);
}

void
spare_memory_keep(size_t size_max)
{
    mutex_lock(&spare.mutex);
    spare.size_max = size_max;
    while (spare.size > size_max) {
        memory_free(take_block(0));
    }
    mutex_unlock(&spare.mutex);
}

size_t
spare_memory_size(void)
{
    mutex_lock(&spare.mutex);
    size_t size = spare.size;
    mutex_unlock(&spare.mutex);
    return size;
}
