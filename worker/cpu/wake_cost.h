/* The measured time that sleeping threads take to come when they are woken: some microseconds where a core
 * waits for them, a hundred and more on a virtual machine or where cores are busy. It tells, before work is
 * shared, whether that is worth a wake. A wrong guess costs time and changes no result.
 *
 * Threads: any; two threads that come at once may lose one of the two measurements. */
#pragma once

#include <stdint.h>

/* Zeroed: a wake is taken to be quick. */
typedef struct WakeCost {
    uint64_t woken_ns;   /* atomic: when a thread was woken that has not come yet; 0: none */
    uint32_t latency_ns; /* atomic: moving average; 0: no thread has come yet */
} WakeCost;

/* Note that a thread is woken, and that it has come. While one is on its way, others do not count. */
void wake_begins(WakeCost *cost, uint64_t now_ns);
void wake_ends(WakeCost *cost, uint64_t now_ns);

/* Returns for how many sleeping threads `work_ns` of work pays. A thread pays that comes before the first
 * half of the work is done. Each refusal lowers what a wake is taken to cost by a little, so that after many
 * of them another wake tells what it costs by then. */
int64_t wakes_worth(WakeCost *cost, uint64_t work_ns);
