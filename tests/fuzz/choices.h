/* Choices made by the bytes of a fuzzer. Threads: one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Choices {
    const uint8_t *next;
    const uint8_t *end;
} Choices;

/* Chooses a number below `count`; 0 when the bytes are used up. */
static inline size_t
choose(Choices *choices, size_t count)
{
    size_t value = 0;
    for (size_t reach = 1; reach < count && choices->next < choices->end; reach *= 256) {
        value = value * 256 + *choices->next++;
    }
    return value % count;
}

#define CHOOSE(choices, table) (table)[choose((choices), COUNT_OF(table))]
