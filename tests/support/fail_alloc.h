/* Failing allocations: the n-th allocation of Sluice's own objects returns NULL. Linked with -Wl,--wrap=
 * for each allocator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/status.h"

extern size_t fail_alloc_at; /* 0: never */
extern size_t fail_alloc_count;

/* Fails the first allocation of `attempt`, then the second, … until it succeeds. Asserts that each failure
 * came as RESOURCE_EXHAUSTED, and that there was one. Other threads may allocate meanwhile. */
void assert_lack_of_memory_is_told(Status (*attempt)(void *context), void *context);

/* Runs `run`, which returns whether it succeeded, once without failures and then once for each of its
 * allocations, which fails. The first run must succeed with at least `at_least` allocations, the others
 * must fail. */
void assert_each_allocation_may_fail(bool (*run)(void), size_t at_least);
