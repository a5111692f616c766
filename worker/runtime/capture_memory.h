/* The memory of a captured part of a graph, whose addresses must be the same in every replay: one block that
 * the part's inputs, the outputs of its kernels and their scratch memory share.
 *
 * A run of the part is measured first: its buffers come from the device as ever, and are laid out beside that
 * in a block that grows as it must. When the part is captured, the same requests in the same order find the
 * same places in a block of that size.
 *
 * Ownership: refcounted; each buffer holds a reference.
 * Threads:   one thread allocates; buffers are released on any. */
#pragma once

#include "worker/runtime/device.h"

typedef struct CaptureMemory CaptureMemory;

/* Makes the memory in this block, whose reference it takes; NULL: it measures. NULL without memory. */
MUST_USE CaptureMemory *capture_memory_new(Device *device, TensorBuffer *block);
void capture_memory_unref(CaptureMemory *memory); /* NULL is allowed */

/* Lets device_allocate() take this thread's buffers from the memory; NULL: from the device again. Returns the
 * one before. */
CaptureMemory *capture_memory_enter(CaptureMemory *memory);

/* Returns the memory that this thread allocates of the device from; NULL: the device itself. */
CaptureMemory *capture_memory_of(const Device *device);

bool capture_memory_measures(const CaptureMemory *memory);

/* Returns a buffer in the block, or NULL: that is full. While it measures: one around `measured`, of the
 * device, whose reference it takes. */
MUST_USE TensorBuffer *capture_memory_give(CaptureMemory *memory, size_t size, TensorBuffer *measured);

/* Keeps a place of `size` bytes for good, without a buffer. False without memory. */
MUST_USE bool capture_memory_reserve(CaptureMemory *memory, size_t size);

size_t capture_memory_size(const CaptureMemory *memory);    /* bytes of the block */
uint64_t capture_memory_total(const CaptureMemory *memory); /* bytes of all buffers that were allocated */
