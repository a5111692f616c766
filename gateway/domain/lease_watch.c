#include "gateway/domain/lease_watch.h"

#include <assert.h>
#include <stdbool.h>

#include "shared/base/clock.h"

/* Looks take time on a busy machine, and clocks are slewed: less than this is no leap. */
enum { LEAP_MS = 2000 };

static uint64_t
difference(uint64_t left, uint64_t right)
{
    return left > right ? left - right : right - left;
}

/* Returns whether the database's clock went as far as this machine's since the last look. */
static bool
clocks_agree(const LeaseWatch *watch, uint64_t now_ns, uint64_t database_us)
{
    uint64_t passed_ms = (now_ns - watch->looked_ns) / CLOCK_NS_PER_MS;
    uint64_t expected_us = watch->database_us + passed_ms * 1000;
    return difference(database_us, expected_us) <= LEAP_MS * UINT64_C(1000);
}

void
lease_watch_note(LeaseWatch *watch, uint64_t now_ns, uint64_t database_us)
{
    assert(now_ns >= watch->looked_ns && now_ns > 0);

    bool has_gap = now_ns - watch->looked_ns > LEASE_WATCH_GAP_MS * CLOCK_NS_PER_MS;
    if (watch->since_ns == 0 || has_gap || !clocks_agree(watch, now_ns, database_us)) {
        watch->since_ns = now_ns;
    }
    watch->looked_ns = now_ns;
    watch->database_us = database_us;
}

void
lease_watch_break(LeaseWatch *watch)
{
    watch->since_ns = 0;
}

uint64_t
lease_left_ms(const LeaseWatch *watch, uint64_t renewed_us, uint64_t lease_ms)
{
    assert(watch->since_ns != 0 && lease_ms > 0);

    uint64_t silent_ms = (watch->looked_ns - watch->since_ns) / CLOCK_NS_PER_MS;
    /* A renewal that lies ahead is one from before the clock was set back: when it was is not known. */
    if (renewed_us <= watch->database_us && (watch->database_us - renewed_us) / 1000 < silent_ms) {
        silent_ms = (watch->database_us - renewed_us) / 1000;
    }
    return silent_ms < lease_ms ? lease_ms - silent_ms : 0;
}
