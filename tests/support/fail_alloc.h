/* Makes the n-th allocation of our own objects fail. Linked with -Wl,--wrap= for each allocator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/status.h"

extern size_t fail_alloc_at; /* 0: never */
extern size_t fail_alloc_count;

/* Fails the first allocation of `attempt`, then the second, … until it succeeds: that each failure was told
 * as RESOURCE_EXHAUSTED is asserted, and that there was one. Other threads may allocate meanwhile. */
void assert_lack_of_memory_is_told(Status (*attempt)(void *context), void *context);

/* `run` says whether it succeeded. It must, and make `at_least` allocations, or nothing is proven; then it
 * must fail as often as it makes any, each time another one failing. */
void assert_each_allocation_may_fail(bool (*run)(void), size_t at_least);
