/* The only door to the system's allocator: a test can make any allocation fail here, and a program's heap
 * can be measured.
 *
 * Ownership: the caller frees with memory_free().
 * Threads:   any.
 * Errors:    NULL when the system has no memory or the size overflows; nothing aborts. */
#pragma once

#include <stddef.h>

#include "shared/base/compiler.h"

enum { MEMORY_CACHE_LINE = 64 };

/* Returns zeroed memory for `count` things of `size` bytes, aligned for any type. */
MUST_USE void *memory_new(size_t count, size_t size);

/* Returns memory with unspecified content, aligned to a cache line, as kernels and DMA want it. `size` may
 * be 0. */
MUST_USE void *memory_new_aligned(size_t size);

/* Grows or shrinks; the old block stays valid when NULL is returned. */
MUST_USE void *memory_resize(void *memory, size_t size);

void memory_free(void *memory); /* NULL is allowed */

static inline void
memory_freep(void *pointer)
{
    memory_free(*(void **)pointer);
}
#define AUTO_MEMORY CLEANUP(memory_freep)
