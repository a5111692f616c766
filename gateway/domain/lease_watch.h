/* The judgement whether a lease has lapsed. A gateway judges only by what it could see: it has looked at the
 * leases for a whole lease without a gap, so that whoever lives could have renewed its own. After an outage
 * of the database, and after a leap of its clock, the watch begins anew, and nobody lapses meanwhile.
 *
 * Ownership: plain values.
 * Threads:   one at a time. */
#pragma once

#include <stdint.h>

/* A watch that has not looked for so long has a gap. */
enum { LEASE_WATCH_GAP_MS = 5000 };

typedef struct LeaseWatch {
    uint64_t since_ns;    /* monotonic; 0: nothing has been looked at yet */
    uint64_t looked_ns;   /* monotonic; the last look */
    uint64_t database_us; /* the database's clock at the last look */
} LeaseWatch;

/* Notes a look at the leases, at `now_ns` of the monotonic clock, when the database's said `database_us`. */
void lease_watch_note(LeaseWatch *watch, uint64_t now_ns, uint64_t database_us);

/* Notes that the leases could not be looked at. */
void lease_watch_break(LeaseWatch *watch);

/* Returns for how many milliseconds a lease lasts from the last look on, if it is not renewed; 0: it has
 * lapsed. `renewed_us` is a time of the database's clock. */
uint64_t lease_left_ms(const LeaseWatch *watch, uint64_t renewed_us, uint64_t lease_ms);
