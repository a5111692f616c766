/* Search for numbers that are not finite. Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns whether all of so many numbers are finite. */
bool are_finite(const float *numbers, int64_t count);
