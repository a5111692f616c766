/* Makes the n-th allocation of our own objects fail. Linked with -Wl,--wrap= for each allocator. */
#pragma once
#include <stddef.h>
extern size_t fail_alloc_at; /* 0: never */
extern size_t fail_alloc_count;
