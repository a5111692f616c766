/* Measured times of the iterations of loops, by kind of loop. They tell, before a loop has begun, whether it
 * is worth the wake of a sleeping thread. A wrong guess costs time and changes no result.
 *
 * Threads: any; two loops of one kind that end at once may lose one of the two measurements. */
#pragma once

#include <stdint.h>

enum { LOOP_KINDS = 256 };

typedef struct LoopCosts {
    uint32_t ns[LOOP_KINDS]; /* atomic: of one iteration, a moving average; 0: there was no such loop yet */
} LoopCosts;

/* Returns the number of a kind: loops over the same body and as many iterations. Few kinds share a number. */
static inline uint32_t
loop_kind(uintptr_t body, int64_t count)
{
    uint64_t mixed = ((uint64_t)body ^ (uint64_t)count * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
    return (uint32_t)(mixed >> 56);
}

/* Returns the nanoseconds that one iteration is expected to take; 0: unknown. */
uint64_t loop_cost(const LoopCosts *costs, uint32_t kind);

/* Notes that a thread computed `iterations` of a loop, more than 0, in so many nanoseconds. */
void loop_cost_note(LoopCosts *costs, uint32_t kind, int64_t iterations, uint64_t elapsed_ns);
