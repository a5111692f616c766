#include "worker/cpu/wake_cost.h"

#include "shared/base/atomic.h"

/* Nanoseconds. A thread that comes at once was woken by a system call that took its caller some 10 us; one
 * that takes very long did so by chance. */
enum { LATENCY_MIN = 20 * 1000, LATENCY_MAX = 300 * 1000 };

enum {
    AVERAGE_WEIGHT = 4,  /* a measurement weighs 1 / 4 in the average */
    REFUSAL_WEIGHT = 64, /* a refusal takes 1 / 64 off it */
};

void
wake_begins(WakeCost *cost, uint64_t now_ns)
{
    if (atomic_load_relaxed(&cost->woken_ns) == 0) {
        atomic_store_relaxed(&cost->woken_ns, now_ns);
    }
}

static int64_t
expected_latency(const WakeCost *cost)
{
    int64_t latency_ns = atomic_load_relaxed(&cost->latency_ns);
    return latency_ns < LATENCY_MIN ? LATENCY_MIN : latency_ns;
}

void
wake_ends(WakeCost *cost, uint64_t now_ns)
{
    uint64_t woken_ns = atomic_exchange_relaxed(&cost->woken_ns, 0);
    if (woken_ns == 0 || woken_ns > now_ns) {
        return;
    }
    int64_t taken_ns = now_ns - woken_ns < LATENCY_MAX ? (int64_t)(now_ns - woken_ns) : LATENCY_MAX;
    int64_t before_ns = expected_latency(cost);
    int64_t after_ns = before_ns + (taken_ns - before_ns) / AVERAGE_WEIGHT;
    atomic_store_relaxed(&cost->latency_ns, (uint32_t)after_ns);
}

int64_t
wakes_worth(WakeCost *cost, uint64_t work_ns)
{
    int64_t latency_ns = expected_latency(cost);
    int64_t worth = (int64_t)(work_ns / ((uint64_t)latency_ns * 2));
    if (worth == 0 && work_ns >= (uint64_t)LATENCY_MIN * 2) {
        atomic_store_relaxed(&cost->latency_ns, (uint32_t)(latency_ns - latency_ns / REFUSAL_WEIGHT));
    }
    return worth;
}
