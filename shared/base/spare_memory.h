/* Large blocks that were freed a moment ago, kept for whoever asks next. The pages of a fresh block are
 * mapped one by one as they are written: 0.3 to 0.5 ms a MiB, as much as receiving the same bytes takes. A
 * program whose large blocks come and go with requests keeps some (spare_memory_keep()); others keep none.
 *
 * Ownership: the caller frees with spare_memory_free(); kept blocks are the process's.
 * Threads:   any.
 * Errors:    NULL when the system has no memory. */
#pragma once

#include <stddef.h>

#include "shared/base/compiler.h"

/* Keeps up to `size_max` bytes from now on; 0, as at the start, keeps none and frees what is kept. */
void spare_memory_keep(size_t size_max);

/* Returns memory with unspecified content, aligned to a cache line, like memory_new_aligned(). */
MUST_USE void *spare_memory_new(size_t size);
void spare_memory_free(void *memory, size_t size); /* the size that was asked for */

/* Frees the blocks that nobody has taken since the last trim. Called now and then, it gives back what an idle
 * program keeps. */
void spare_memory_trim(void);

size_t spare_memory_size(void); /* bytes that are kept */
