/* The memory of the card: slabs of cudaMalloc(), cut into blocks of 256 bytes and more. The smallest free
 * block that is large enough is taken, outside of the lane's turns of those that the lane has done with, and
 * neighbours that are free become one.
 *
 * A buffer may be released while kernels that use it still run: what gets its bytes next is enqueued behind
 * them in the lane. Other streams ask for cuda_allocator_position(). Bytes that another tenant may have
 * written are zeroed in the lane before they are handed out.
 *
 * Ownership: buffers are TensorBuffers; all are released before cuda_allocator_free().
 * Threads:   any. Releasing calls nothing of CUDA's.
 * Errors:    NULL when the limit, the account's, its tenant's or the card's end is reached. */
#pragma once

#include "worker/cuda/lane.h"
#include "worker/runtime/memory_account.h"

enum { CUDA_MEMORY_NUMBER = 1 }; /* TensorBuffer.memory of every block */

typedef struct CudaAllocator CudaAllocator;

typedef struct CudaAllocatorOptions {
    CudaLane *lane;
    uint64_t limit;        /* bytes */
    uint64_t tenant_limit; /* bytes that one tenant may hold; 0: as many as there are */
    bool is_reserved;      /* the limit is taken from the card at once, in one slab */
} CudaAllocatorOptions;

/* RESOURCE_EXHAUSTED: the card has not as much. */
MUST_USE Status cuda_allocator_new(
    Call *call, const CudaAllocatorOptions *options, CudaAllocator **ret_allocator);
void cuda_allocator_free(CudaAllocator *allocator); /* NULL is allowed */

/* Do as Device.allocate, memory and charge (worker/runtime/device.h). */
TensorBuffer *cuda_allocator_allocate(CudaAllocator *allocator, size_t size);
void cuda_allocator_memory(CudaAllocator *allocator, DeviceMemory *ret_memory);
MemoryAccount *cuda_allocator_charge(MemoryAccount *account);

/* Returns the position of the lane at which nobody used the bytes of this new buffer any more. */
uint64_t cuda_allocator_position(const CudaAllocator *allocator, const TensorBuffer *buffer);
