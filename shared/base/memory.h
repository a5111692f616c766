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

enum { MEMORY_LARGE_SIZE = 1 << 20 };

/* Has blocks of MEMORY_LARGE_SIZE or more given back to the system when they are freed, from now on. Without
 * it, glibc keeps blocks of up to 32 MiB once it has seen some (mallopt(3): its threshold follows what is
 * freed), in heaps that threads fragment: a gateway that had held 20 graphs of 30 MiB, one after the other,
 * kept 580 MiB. For programs whose large blocks come and go with users' requests. */
void memory_give_back_large(void);

static inline void
memory_freep(void *pointer)
{
    memory_free(*(void **)pointer);
}
#define AUTO_MEMORY CLEANUP(memory_freep)
