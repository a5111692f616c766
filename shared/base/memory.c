#include "shared/base/memory.h"

#include <malloc.h>
#include <stdlib.h>

void *
memory_new(size_t count, size_t size)
{
    return calloc(count, size);
}

void *
memory_new_aligned(size_t size)
{
    size_t line = MEMORY_CACHE_LINE;
    if (size > (size_t)-1 - line) {
        return NULL;
    }
    size_t rounded = size == 0 ? line : (size + line - 1) / line * line;
    return aligned_alloc(line, rounded);
}

void *
memory_resize(void *memory, size_t size)
{
    return realloc(memory, size);
}

void
memory_free(void *memory)
{
    free(memory);
}

void
memory_give_back_large(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MEMORY_LARGE_SIZE);
    (void)mallopt(M_TRIM_THRESHOLD, MEMORY_LARGE_SIZE);
}
