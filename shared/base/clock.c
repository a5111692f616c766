#include "shared/base/clock.h"

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
clock_thread_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t
clock_wall_us(void)
{
    return clock_read_ns(CLOCK_REALTIME) / CLOCK_NS_PER_US;
}

/* Writes `count` digits, leading zeros included, then `behind`; returns the position after it. */
static char *
digits_write(char *text, int count, unsigned value, char behind)
{
    for (int index = count - 1; index >= 0; index--) {
        text[index] = (char)('0' + value % 10);
        value /= 10;
    }
    text[count] = behind;
    return text + count + 1;
}

void
clock_stamp(uint64_t wall_us, char ret_stamp[CLOCK_STAMP_SIZE])
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm date;
    (void)gmtime_r(&seconds, &date);
    char *text = digits_write(ret_stamp, 4, (unsigned)date.tm_year + 1900, '-');
    text = digits_write(text, 2, (unsigned)date.tm_mon + 1, '-');
    text = digits_write(text, 2, (unsigned)date.tm_mday, 'T');
    text = digits_write(text, 2, (unsigned)date.tm_hour, ':');
    text = digits_write(text, 2, (unsigned)date.tm_min, ':');
    text = digits_write(text, 2, (unsigned)date.tm_sec, '.');
    *digits_write(text, 6, (unsigned)(wall_us % 1000000), 'Z') = '\0';
}
