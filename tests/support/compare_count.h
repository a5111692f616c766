/* A program that is linked with this counts its comparisons of bytes, in any file: names that are looked for
 * in a list are compared with all names before them, so that the count shows what a clock would show on a
 * machine that does nothing else. */
#pragma once

#include <stdint.h>

/* Returns how often memcmp() was called so far, on any thread. */
uint64_t compare_count(void);
