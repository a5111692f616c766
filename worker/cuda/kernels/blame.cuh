/* Refuses values, from the threads of a kernel. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.cuh"

/* Returns whether nobody has refused a value before this one, as far as this thread sees: what it sees may be
 * old, but never said to be earlier than it is. */
__device__ __forceinline__ bool
is_first_refused(const volatile CudaRefused *refused, uint64_t turn, int64_t element)
{
    uint64_t known = refused->turn;
    return known == 0 || (known == turn && element < refused->element);
}

/* The turn is written last, so that who sees it sees an element too. */
__device__ __forceinline__ void
note_refused(const CudaBlame &blame, int64_t element, int64_t value, int64_t limit)
{
    volatile CudaRefused *refused = blame.refused;
    refused->element = element;
    refused->value = value;
    refused->limit = limit;
    refused->width = blame.width;
    refused->reason = blame.reason;
    for (int i = 0; i < CUDA_BLAME_NODE_SIZE; i++) {
        refused->node[i] = blame.node[i];
    }
    __threadfence();
    refused->turn = blame.turn;
}

/* Refuses `value`, which is that of element `element`; the kernel goes on with any other value. Of all
 * threads that refuse one, the one of the lowest element is heard: those that cannot be it do not even wait.
 */
__device__ __forceinline__ void
refuse(const CudaBlame &blame, int64_t element, int64_t value, int64_t limit)
{
    bool is_done = false;
    while (!is_done && is_first_refused(blame.refused, blame.turn, element)) {
        if (atomicCAS(&blame.refused->lock, 0U, 1U) == 0U) {
            __threadfence();
            if (is_first_refused(blame.refused, blame.turn, element)) {
                note_refused(blame, element, value, limit);
            }
            __threadfence();
            atomicExch(&blame.refused->lock, 0U);
            is_done = true;
        }
    }
}

/* Refuses numbers that are no integers: their bits are told. */
__device__ __forceinline__ void
refuse_numbers(const CudaBlame &blame, int64_t element, double value, double limit)
{
    int64_t bits[2] = {0, 0};
    memcpy(&bits[0], &value, sizeof value);
    memcpy(&bits[1], &limit, sizeof limit);
    refuse(blame, element, bits[0], bits[1]);
}
