/* Compiler attributes under readable names: no other file spells them. */
#pragma once

#define CLEANUP(function) __attribute__((cleanup(function)))
#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Returns the pointer without const, to whoever owns memory that it shows to others as const. */
static inline void *
without_const(const void *pointer)
{
    union {
        const void *shown;
        void *owned;
    } both = {.shown = pointer};
    return both.owned;
}

/* Reads a pointer and leaves NULL there: gives a thing away that a cleanup attribute would have freed. */
#define TAKE(pointer)                                                                                        \
    __extension__({                                                                                          \
        __typeof__(pointer) taken_ = (pointer);                                                              \
        (pointer) = NULL;                                                                                    \
        taken_;                                                                                              \
    })
