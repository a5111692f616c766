/* Arithmetic of sizes. Threads: any. */
#pragma once

#include <stdint.h>

/* Returns a quotient rounded up, of a dividend of either sign by a positive divisor; no sum overflows. */
static inline int64_t
divide_up(int64_t number, int64_t divisor)
{
    return number / divisor + (number % divisor > 0 ? 1 : 0);
}

static inline int64_t
smaller_of(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static inline int64_t
larger_of(int64_t left, int64_t right)
{
    return left > right ? left : right;
}
