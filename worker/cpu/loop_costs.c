#include "worker/cpu/loop_costs.h"

#include <assert.h>

#include "shared/base/atomic.h"

enum { AVERAGE_WEIGHT = 4 }; /* a measurement weighs 1 / 4 in the average */

uint64_t
loop_cost(const LoopCosts *costs, uint32_t kind)
{
    assert(kind < LOOP_KINDS);
    return atomic_load_relaxed(&costs->ns[kind]);
}

void
loop_cost_note(LoopCosts *costs, uint32_t kind, int64_t iterations, uint64_t elapsed_ns)
{
    assert(kind < LOOP_KINDS && iterations > 0);
    uint64_t each = elapsed_ns / (uint64_t)iterations;
    int64_t now = each < INT32_MAX ? (int64_t)each + 1 : INT32_MAX;
    int64_t old = (int64_t)loop_cost(costs, kind);
    int64_t next = old == 0 ? now : old + (now - old) / AVERAGE_WEIGHT;
    atomic_store_relaxed(&costs->ns[kind], (uint32_t)next);
}
