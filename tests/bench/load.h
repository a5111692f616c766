/* A closed loop of HTTP/1.1 requests: every connection sends the next one when its reply is whole. One
 * thread; every latency is kept, so that percentiles are exact. */
#pragma once

#include <stdint.h>

#include "shared/base/slice.h"

enum { LOAD_CONNECTIONS_MAX = 256 };

typedef struct Load {
    const char *address;
    Slice request;        /* sent unchanged each time */
    int status;           /* of every reply */
    const char *expected; /* part of every reply */
    int connection_count;
    uint64_t duration_ms;
    uint64_t count_max; /* ends after so many requests; 0: by time only */
} Load;

typedef struct LoadResult {
    uint64_t count; /* requests, each answered as expected */
    double seconds;
    double p50_us;
    double p99_us;
} LoadResult;

/* Ends the program with a message when a reply is not as expected: a figure would mean nothing. */
void load_run(const Load *load, LoadResult *ret_result);
