/* The CPU's tensor memory: buffers in size classes that are kept for the next run instead of going back to
 * the system, so that a step that ran before allocates nothing new. Small blocks are handed out from a cache
 * of the calling thread, without a lock.
 *
 * Ownership: a buffer belongs to whoever holds its references; the last one gives it back. All buffers must
 *            be back before allocator_free().
 * Threads:   any; a buffer may be given back on another thread than it was made on.
 * Errors:    NULL when the limit, or the system's memory, is reached even with all caches emptied. */
#pragma once

#include "worker/runtime/device.h"

typedef struct Allocator Allocator;

/* At most `limit` bytes in blocks handed out and cached; at most `cache_max` of them cached and shared by all
 * threads (each thread keeps up to 64 KiB a size class besides, for blocks up to 32 KiB). */
MUST_USE Allocator *allocator_new(uint64_t limit, uint64_t cache_max);
void allocator_free(Allocator *allocator); /* NULL is allowed */

/* Uninitialised, 64-byte aligned, size bytes; 0 gives a buffer that holds no byte. */
MUST_USE TensorBuffer *allocator_allocate(Allocator *allocator, size_t size);

/* Counts what this thread allocates from here on to another account (device.h), by its size in whole cache
 * lines. Returns whose it was. */
MemoryAccount *allocator_charge(Allocator *allocator, MemoryAccount *account);
MemoryAccount *allocator_charged(Allocator *allocator); /* whose it is */

/* Counts a buffer that the caller alone holds to the account that this thread charges. False: it is
 * somebody's already, or no buffer of this allocator, or nobody is charged. */
bool allocator_adopt(Allocator *allocator, TensorBuffer *buffer);

/* Sizes count as their class (at most a quarter more than asked for). `peak` may miss up to 64 KiB a thread.
 */
void allocator_memory(Allocator *allocator, DeviceMemory *ret_memory);

/* Gives cached blocks back to the system until at most `keep` bytes are cached (but for other threads' own
 * caches). */
void allocator_trim(Allocator *allocator, uint64_t keep);
