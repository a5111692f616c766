/* How many requests a second somebody may send, by the generic cell rate algorithm: one number says when the
 * next request would be due if all came evenly. Who was quiet may send a second's worth at once.
 *
 * Ownership: a zeroed RequestRate is one that nothing was sent under; nothing is freed.
 * Threads:   any, without a lock. */
#pragma once

#include <stdint.h>

typedef struct RequestRate RequestRate;
struct RequestRate {
    uint64_t per_second; /* atomic; 0: as many as come */
    uint64_t due_ns;     /* atomic */
};

void request_rate_set(RequestRate *rate, uint64_t per_second);

/* Counts one request. 0: it may pass; else the nanoseconds until the next one may, and it is not counted. */
uint64_t request_rate_take(RequestRate *rate, uint64_t now_ns);
