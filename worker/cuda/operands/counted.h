/* Kernels whose outputs have as many elements as the card finds in their inputs: the places of what is not
 * zero, the different ones of many. Such a kernel enqueues the counting, waits for the numbers without a
 * thread, then makes its outputs and enqueues the rest:
 *
 *     static const CountedKernel where = {.count = count_where, .fill = fill_where};
 *     static void start_where(KernelPromise *promise) { counted_start(promise, &where); }
 *
 * It has start() in place of compute(), so that it is no part of captured work. What kernels of the run have
 * refused by then fails the promise, since the copy of the numbers tells it.
 *
 * Threads: count() on the run's thread, fill() on any; each within a turn of the lane. */
#pragma once

#include "worker/runtime/kernel.h"

enum { COUNTING_KEPT_MAX = 4 };

typedef struct Counting {
    KernelContext *context;
    Tensor counts;                  /* int64 on the card, made by counting_begin() */
    const int64_t *counted;         /* the same on the host; for fill() */
    Tensor kept[COUNTING_KEPT_MAX]; /* what count() leaves to fill() in the card's memory */
} Counting;

typedef struct CountedKernel {
    /* Checks the inputs, and enqueues what writes the numbers. */
    Status (*count)(Counting *counting);
    /* Makes the outputs, and enqueues what writes them. */
    Status (*fill)(Counting *counting);
} CountedKernel;

/* Completes the promise, now or later. */
void counted_start(KernelPromise *promise, const CountedKernel *kernel);

/* Makes room for int64 numbers on the card. */
MUST_USE Status counted_numbers(KernelContext *context, int64_t count, Tensor *ret_numbers);

/* Makes the numbers, at least one, which are zero until kernels of count() write them. */
MUST_USE Status counting_begin(Counting *counting, int64_t count);
