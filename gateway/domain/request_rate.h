/* A limit on requests a second, by the generic cell rate algorithm: one number says when the next request
 * would be due if all came evenly. A client that was quiet may send a second's worth at once.
 *
 * Ownership: a zeroed RequestRate has counted nothing; nothing is freed.
 * Threads:   any, without a lock. */
#pragma once

#include <stdint.h>

typedef struct RequestRate RequestRate;
struct RequestRate {
    uint64_t per_second; /* atomic; 0: no limit */
    uint64_t due_ns;     /* atomic */
};

void request_rate_set(RequestRate *rate, uint64_t per_second);

/* Counts one request and returns 0 when it may pass; else returns the nanoseconds until the next one may,
 * and counts nothing. */
uint64_t request_rate_take(RequestRate *rate, uint64_t now_ns);
