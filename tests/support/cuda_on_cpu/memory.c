#include "tests/support/cuda_on_cpu/memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#endif

enum { ALIGNMENT = 256, FRESH = 0xff, FREED = 0xfe, GAP = 0xfd };
#define ARENA_SIZE ((size_t)4 << 30)

/* Blocks in the order of their addresses; those of the arena cover it without holes. */
typedef struct Block {
    struct Block *next;
    char *data;
    size_t size;   /* with its gap */
    size_t wanted; /* bytes the caller may use */
    bool is_free;
} Block;

static char *arena;
static Block *blocks;
static Block *pinned;
static size_t card_size = (size_t)256 << 20;
static size_t in_use;
static int open_count;

static Block *
new_block(char *data, size_t size, Block *next)
{
    Block *block = malloc(sizeof *block);
    assert(block != NULL);
    *block = (Block){.next = next, .data = data, .size = size, .is_free = true};
    return block;
}

static void
make_arena(void)
{
    if (arena == NULL) {
        arena = mmap(NULL, ARENA_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert(arena != MAP_FAILED);
        /* It is opened and closed for each kernel, which takes time for every page: let them be large. */
        (void)madvise(arena, ARENA_SIZE, MADV_HUGEPAGE);
        blocks = new_block(arena, ARENA_SIZE, NULL);
    }
}

static void
protect_arena(int protection)
{
    if (arena != NULL && mprotect(arena, ARENA_SIZE, protection) != 0) {
        perror("cuda_on_cpu: mprotect");
        abort();
    }
}

void
device_memory_open(void)
{
    if (open_count++ == 0) {
        protect_arena(PROT_READ | PROT_WRITE);
    }
}

void
device_memory_close(void)
{
    if (--open_count == 0) {
        protect_arena(PROT_NONE);
    }
}

static void
fill(char *data, int with, size_t size)
{
    device_memory_open();
    memset(data, with, size);
    device_memory_close();
}

static Block *
find_room(size_t size)
{
    Block *block = blocks;
    while (block != NULL && (!block->is_free || block->size < size)) {
        block = block->next;
    }
    return block;
}

void *
device_memory_take(size_t size)
{
    make_arena();
    if (size > card_size) {
        return NULL;
    }
    size_t with_gap = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    Block *block = find_room(with_gap);
    if (block == NULL || in_use + size > card_size) {
        return NULL;
    }
    if (block->size > with_gap) {
        block->next = new_block(block->data + with_gap, block->size - with_gap, block->next);
        block->size = with_gap;
    }
    block->is_free = false;
    block->wanted = size;
    in_use += size;
    ASAN_UNPOISON_MEMORY_REGION(block->data, block->size);
    fill(block->data, FRESH, size);
    fill(block->data + size, GAP, with_gap - size);
    ASAN_POISON_MEMORY_REGION(block->data + size, with_gap - size);
    return block->data;
}

static void
join_next(Block *block)
{
    Block *next = block->next;
    if (block->is_free && next != NULL && next->is_free) {
        block->size += next->size;
        block->next = next->next;
        free(next);
    }
}

static void
check_gap(const Block *block, const char *who)
{
    ASAN_UNPOISON_MEMORY_REGION(block->data + block->wanted, block->size - block->wanted);
    for (size_t i = block->wanted; i < block->size; i++) {
        if ((unsigned char)block->data[i] != GAP) {
            fprintf(stderr, "cuda_on_cpu: %s wrote %zu bytes behind the end of a block of %zu bytes\n", who,
                i - block->wanted + 1, block->wanted);
            abort();
        }
    }
    ASAN_POISON_MEMORY_REGION(block->data + block->wanted, block->size - block->wanted);
}

bool
device_memory_give(void *data)
{
    Block *before = NULL;
    Block *block = blocks;
    while (block != NULL && block->data != (char *)data) {
        before = block;
        block = block->next;
    }
    if (block == NULL || block->is_free) {
        return false;
    }
    device_memory_open();
    check_gap(block, "a kernel");
    device_memory_close();
    fill(block->data, FREED, block->wanted);
    ASAN_POISON_MEMORY_REGION(block->data, block->size);
    in_use -= block->wanted;
    block->is_free = true;
    join_next(block);
    if (before != NULL) {
        join_next(before);
    }
    return true;
}

void
device_memory_check(const char *who)
{
    device_memory_open();
    for (const Block *block = blocks; block != NULL; block = block->next) {
        if (!block->is_free) {
            check_gap(block, who);
        }
    }
    device_memory_close();
}

bool
device_memory_is_host(const void *data)
{
    return arena == NULL || (const char *)data < arena || (const char *)data >= arena + ARENA_SIZE;
}

static bool
lies_in(const Block *block, const void *data, size_t size)
{
    const char *begin = data;
    return begin >= block->data && size <= block->wanted &&
           (size_t)(begin - block->data) <= block->wanted - size;
}

bool
device_memory_holds(const void *data, size_t size)
{
    for (const Block *block = blocks; block != NULL; block = block->next) {
        if (!block->is_free && lies_in(block, data, size)) {
            return true;
        }
    }
    return false;
}

size_t
device_memory_in_use(void)
{
    return in_use;
}

size_t
device_memory_size(void)
{
    return card_size;
}

void
device_memory_set_size(size_t size)
{
    assert(size <= ARENA_SIZE / 2);
    card_size = size;
}

size_t
device_memory_clear(void)
{
    size_t count = 0;
    Block *block = blocks;
    while (block != NULL) {
        if (block->is_free) {
            block = block->next;
            continue;
        }
        count++;
        device_memory_give(block->data);
        block = blocks; /* neighbours were joined */
    }
    if (arena != NULL) {
        (void)madvise(arena, ARENA_SIZE, MADV_DONTNEED); /* opening and closing takes time for every page */
    }
    return count;
}

void *
pinned_memory_take(size_t size)
{
    void *data = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (data == NULL) {
        return NULL;
    }
    memset(data, FRESH, size);
    pinned = new_block(data, size, pinned);
    pinned->wanted = size;
    return data;
}

bool
pinned_memory_give(void *data)
{
    for (Block **at = &pinned; *at != NULL; at = &(*at)->next) {
        Block *block = *at;
        if (block->data == (char *)data) {
            *at = block->next;
            memset(data, FREED, block->wanted);
            free(data);
            free(block);
            return true;
        }
    }
    return false;
}

bool
pinned_memory_holds(const void *data, size_t size)
{
    for (const Block *block = pinned; block != NULL; block = block->next) {
        if (lies_in(block, data, size)) {
            return true;
        }
    }
    return false;
}

size_t
pinned_memory_clear(void)
{
    size_t count = 0;
    while (pinned != NULL) {
        (void)pinned_memory_give(pinned->data);
        count++;
    }
    return count;
}
