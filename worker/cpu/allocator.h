/* The memory for tensors on the CPU: buffers in size classes, which are kept for the next run instead of
 * going back to the system, so that a step that ran before takes nothing new. Small blocks come from a
 * cache of the calling thread, without a lock.
 *
 * Ownership: a buffer belongs to those who hold references to it; the last reference frees it. All buffers
 *            must be freed before allocator_free().
 * Threads:   any; a buffer may be freed on another thread than it was made on.
 * Errors:    NULL when the limit, or the system's memory, is reached even with all caches emptied. */
#pragma once

#include "worker/runtime/device.h"

typedef struct Allocator Allocator;

/* Allocated and cached blocks take at most `limit` bytes. At most `cache_max` of these are cached in the
 * shared lists; each thread keeps up to 64 KiB in each size class besides, for blocks up to 32 KiB. */
MUST_USE Allocator *allocator_new(uint64_t limit, uint64_t cache_max);
void allocator_free(Allocator *allocator); /* NULL is allowed */

/* Allocates uninitialised bytes, aligned to 64; size 0 gives a buffer without bytes. */
MUST_USE TensorBuffer *allocator_allocate(Allocator *allocator, size_t size);

/* Counts what this thread allocates from now on to another account (device.h), in whole cache lines.
 * Returns the previous account. */
MemoryAccount *allocator_charge(Allocator *allocator, MemoryAccount *account);
MemoryAccount *allocator_charged(Allocator *allocator); /* the current account */

/* Counts a buffer that only the caller holds to the account that this thread charges. Returns false when
 * it is counted already, is no buffer of this allocator, or no account is charged. */
bool allocator_adopt(Allocator *allocator, TensorBuffer *buffer);

/* Sizes are those of classes, at most a quarter more than asked for. `peak` may miss up to 64 KiB for each
 * thread. */
void allocator_memory(Allocator *allocator, DeviceMemory *ret_memory);

/* Returns cached blocks to the system until at most `keep` bytes are cached, other threads' caches not
 * counted. */
void allocator_trim(Allocator *allocator, uint64_t keep);
