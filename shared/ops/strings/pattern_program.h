/* A compiled pattern: a program for threads that read one character at a time (Thompson; Pike). */
#pragma once

#include "shared/base/buffer.h"

typedef enum InstructionKind {
    READ_CLASS, /* reads a character that is, or is not, in the ranges */
    SPLIT,      /* goes on at both distances, at the first one with precedence */
    JUMP,
    AT_BEGIN,
    AT_END,
    AT_WORD_BOUNDARY,
    NOT_AT_WORD_BOUNDARY,
    MATCHED,
} InstructionKind;

/* Distances are counted from the instruction itself, so that a stretch of a program may be moved and copied.
 */
typedef struct Instruction {
    InstructionKind kind;
    bool is_negated;
    int32_t first;  /* SPLIT, JUMP: a distance; READ_CLASS: index of the first range */
    int32_t second; /* SPLIT: a distance; READ_CLASS: the number of ranges */
} Instruction;

typedef struct CharacterRange {
    uint32_t first;
    uint32_t last;
} CharacterRange;

typedef struct Pattern {
    Buffer code;   /* Instruction[] */
    Buffer ranges; /* CharacterRange[] */
} Pattern;

static inline const Instruction *
pattern_code(const Pattern *pattern)
{
    return (const Instruction *)(const void *)pattern->code.data;
}

static inline size_t
pattern_size(const Pattern *pattern)
{
    return pattern->code.size / sizeof(Instruction);
}
