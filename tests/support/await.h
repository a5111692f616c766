/* AWAIT asks again and again until a condition holds: for what other threads and processes do without
 * reporting it. A test that has waited for two minutes fails. */
#pragma once

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/process.h"

enum { AWAIT_MS = 120000, AWAIT_PAUSE_MS = 10 };

#define AWAIT(condition)                                                                                     \
    do {                                                                                                     \
        uint64_t await_end_ns_ = clock_monotonic_ns() + AWAIT_MS * CLOCK_NS_PER_MS;                          \
        while (!(condition)) {                                                                               \
            if (clock_monotonic_ns() > await_end_ns_) {                                                      \
                fail_msg("not within %d ms: %s", AWAIT_MS, #condition);                                      \
            }                                                                                                \
            pause_ms(AWAIT_PAUSE_MS);                                                                        \
        }                                                                                                    \
    } while (0)
