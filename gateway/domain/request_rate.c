#include "gateway/domain/request_rate.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"

void
request_rate_set(RequestRate *rate, uint64_t per_second)
{
    atomic_store_relaxed(&rate->per_second, per_second);
}

uint64_t
request_rate_take(RequestRate *rate, uint64_t now_ns)
{
    assert(rate != NULL);

    uint64_t per_second = atomic_load_relaxed(&rate->per_second);
    if (per_second == 0) {
        return 0;
    }
    uint64_t interval_ns = CLOCK_NS_PER_S / per_second;
    uint64_t due_ns = atomic_load_relaxed(&rate->due_ns);
    for (;;) {
        uint64_t begin_ns = due_ns > now_ns ? due_ns : now_ns;
        uint64_t next_ns = begin_ns + interval_ns;
        if (next_ns > now_ns + CLOCK_NS_PER_S) {
            return next_ns - now_ns - CLOCK_NS_PER_S;
        }
        if (atomic_compare_exchange_weak_relaxed(&rate->due_ns, &due_ns, next_ns)) {
            return 0;
        }
    }
}
