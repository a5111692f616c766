/* How many lines or matrices a kernel works on at once, each in memory of its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns at most `count`: as many as have room in 64 MiB when each needs `size` bytes, and one at least. */
static inline int64_t
count_abreast(int64_t count, size_t size)
{
    enum { ABREAST_MAX = 1024, ROOM_BYTES = 64 << 20 };
    int64_t fitting = size == 0 ? 1 : (int64_t)(ROOM_BYTES / size);
    fitting = fitting > ABREAST_MAX ? ABREAST_MAX : fitting < 1 ? 1 : fitting;
    return count < fitting ? count : fitting;
}
