#include "tests/support/compare_count.h"

#include <string.h>

#include "shared/base/atomic.h"

static uint64_t count;

uint64_t
compare_count(void)
{
    return atomic_load_relaxed(&count);
}

/* The program's own function stands before that of the C library. */
int
memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = left;
    const unsigned char *b = right;
    (void)atomic_add_relaxed(&count, 1);
    while (size > 0 && *a == *b) {
        a++;
        b++;
        size--;
    }
    return size == 0 ? 0 : *a - *b;
}
