/* The chance and the clock of a simulation: all events follow from one seed, and time passes only when the
 * simulation lets it. The functions of shared/base/clock.h are defined here instead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"

extern uint64_t chance_seed; /* set by chance_begin() */
extern uint64_t simulated_ns;

/* Begins a simulation; its clock stands at one second. */
void chance_begin(uint64_t seed);

uint64_t chance(uint64_t below); /* from 0 to below - 1 */
bool one_in(uint64_t count);     /* false when count is 0 */

/* Fails the test with the seed that plays it again. */
#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            char text_[256];                                                                                 \
            (void)snprintf(text_, sizeof text_, __VA_ARGS__);                                                \
            fail_msg("SLUICE_SEED=%llu: %s", (unsigned long long)chance_seed, text_);                        \
        }                                                                                                    \
    } while (0)
