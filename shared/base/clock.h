/* Time. Everything that waits counts on the monotonic clock; only records meant for people use the wall
 * clock. Modules that decide by time take `now_ns` as a parameter, so that tests and simulations set it.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

enum { CLOCK_STAMP_SIZE = sizeof "2026-11-21T10:11:12.123456Z" };

#define CLOCK_NS_PER_US UINT64_C(1000)
#define CLOCK_NS_PER_MS UINT64_C(1000000)
#define CLOCK_NS_PER_S UINT64_C(1000000000)

uint64_t clock_monotonic_ns(void);
uint64_t clock_thread_ns(void); /* what the calling thread has computed: others' load is not in it */
uint64_t clock_wall_us(void);   /* microseconds since 1970, UTC */

/* Writes the time as RFC 3339 has it, in UTC with microseconds: every record is stamped so. */
void clock_stamp(uint64_t wall_us, char ret_stamp[CLOCK_STAMP_SIZE]);
