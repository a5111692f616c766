#include "gateway/queue/upkeep.h"

#include "gateway/store/history.h"
#include "gateway/store/leases.h"
#include "shared/base/clock.h"

enum {
    LEASE_MS = 30000,
    PAUSE_S = 5,
    ROLL_PAUSE_S = 86400,
    DAYS_AHEAD = 9,
    ARCHIVE_AGE_S = 60,
    ARCHIVE_MAX = 5000,
};

Status
upkeep_run(Call *call, Upkeep *upkeep, Store *store, uint64_t now_ns)
{
    Lease lease;
    uint64_t moved = 0;
    if (now_ns < upkeep->lease_ns) {
        return STATUS_OK;
    }
    upkeep->lease_ns = now_ns + PAUSE_S * CLOCK_NS_PER_S;
    if (now_ns >= upkeep->roll_ns) {
        /* Also without the lease: there must be a partition for what this gateway is about to write. */
        TRY(history_roll(call, store, DAYS_AHEAD, upkeep->history_days));
        upkeep->roll_ns = now_ns + ROLL_PAUSE_S * CLOCK_NS_PER_S;
    }
    TRY(leases_acquire(call, store, "upkeep", upkeep->owner, LEASE_MS, &lease));
    return lease.is_held ? history_archive(call, store, ARCHIVE_AGE_S, ARCHIVE_MAX, &moved) : STATUS_OK;
}
