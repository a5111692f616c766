/* The rules of order, by which streams, the host and the memory of the card do not overtake one another. Each
 * stands where its constant is named; tests/unit/worker/cuda/rules_test.c compiles those files with one rule
 * left out at a time, and sees that something breaks. */
#pragma once

typedef enum CudaRule {
    /* A copy to the card waits for what the lane held when its destination was free: the last reader of
     * those bytes may still run. */
    CUDA_UPLOAD_WAITS = 1,
    /* Work that is enqueued in the lane behind a copy to the card waits for it. */
    CUDA_LANE_WAITS,
    /* A copy to the host waits for what the lane held when it began. */
    CUDA_DOWNLOAD_WAITS,
    /* A copy holds references to its buffers for as long as the card uses them. */
    CUDA_COPY_HOLDS,
    /* Nothing enqueued reads the host's memory but pinned chunks: what a caller lends may change as soon as
     * it is told that the copy is done. */
    CUDA_BORROWS_NOTHING,
    /* An error of a launch is found on its thread, before the lane is anyone else's. */
    CUDA_ERRORS_AT_ONCE,
    /* A thread chooses the card before it calls CUDA: the choice is each thread's own. */
    CUDA_ENTERS_FIRST,
    /* A fence passes behind all that its lane held. */
    CUDA_FENCE_IS_LAST,
    /* Bytes that another tenant may have written are zeroed in the lane before they are handed out. */
    CUDA_ZEROES_FOR_STRANGERS,
} CudaRule;

#ifndef CUDA_KEEPS
#define CUDA_KEEPS(rule) true
#endif
