#include "shared/base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t
clock_read_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t
clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t
clock_wall_us(void)
{
    return clock_read_ns(CLOCK_REALTIME) / CLOCK_NS_PER_US;
}

void
clock_stamp(uint64_t wall_us, char ret_stamp[CLOCK_STAMP_SIZE])
{
    const time_t seconds = (time_t)(wall_us / 1000000);
    struct tm date;
    char day[sizeof "2026-11-21T10:11:12"];
    (void)gmtime_r(&seconds, &date);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &date);
    (void)snprintf(ret_stamp, CLOCK_STAMP_SIZE, "%s.%06uZ", day, (unsigned)(wall_us % 1000000));
}
