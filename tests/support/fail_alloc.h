/* Makes the n-th allocation of our own objects fail. Linked with -Wl,--wrap= for each allocator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

extern size_t fail_alloc_at; /* 0: never */
extern size_t fail_alloc_count;

/* `run` says whether it succeeded. It must, and make `at_least` allocations, or nothing is proven; then it
 * must fail as often as it makes any, each time another one failing. */
void assert_each_allocation_may_fail(bool (*run)(void), size_t at_least);
