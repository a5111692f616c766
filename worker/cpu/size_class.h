/* Sizes of blocks: 64, 128, 192 and 256 bytes, then four steps to each doubling, so that at most a quarter
 * of a block is wasted. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_CLASS_UNIT = 64, SIZE_CLASS_COUNT = 4 + 4 * 34 }; /* up to 2^42 bytes */

static inline size_t
size_class_bytes(uint32_t size_class)
{
    assert(size_class < SIZE_CLASS_COUNT);

    if (size_class < 4) {
        return (size_t)SIZE_CLASS_UNIT * (size_class + 1);
    }
    uint32_t doubling = size_class / 4 - 1;
    return (size_t)SIZE_CLASS_UNIT * (size_class % 4 + 5) << doubling;
}

/* Finds the smallest class that holds `size` bytes; returns false above the largest. */
static inline bool
size_class_find(size_t size, uint32_t *ret_size_class)
{
    size_t units = size == 0 ? 1 : (size - 1) / SIZE_CLASS_UNIT + 1;
    if (units <= 4) {
        *ret_size_class = (uint32_t)units - 1;
        return true;
    }
    uint32_t doubling = 61 - (uint32_t)__builtin_clzl(units - 1);
    size_t step = ((units - 1) >> doubling) - 4; /* 0…3 */
    size_t size_class = 4 + (size_t)doubling * 4 + step;
    *ret_size_class = (uint32_t)size_class;
    return size_class < SIZE_CLASS_COUNT;
}
