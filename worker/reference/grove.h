/* A forest laid out for many walks. The nodes of a tree lie side by side, a node before its children, and
 * each is one comparison of integers, so that a row goes down without a branch.
 *
 * Numbers are compared as integers of the same order, their keys. Every mode asks whether a row's key is
 * greater than the node's: x < v holds unless x is greater than the number before v, and x == v takes two
 * nodes. NaN has the greatest key, or the least where it goes the way of small numbers: a row has both.
 *
 * Ownership: grove_free() frees what grove_new() makes.
 * Threads:   any; immutable once made.
 * Errors:    RESOURCE_EXHAUSTED without memory, and for a forest of too many nodes. */
#pragma once

#include "worker/reference/forest.h"

enum {
    GROVE_LANES = 8,  /* rows whose keys lie side by side */
    GROVE_PLACES = 2, /* keys of a feature: NaN is the greatest, or the least */
};

/* A leaf has itself behind both ways, and its number as key. */
#define GROVE_SPLIT(name, key_type)                                                                          \
    typedef struct name {                                                                                    \
        key_type key;                                                                                        \
        uint32_t column;  /* of the row's key: (feature × GROVE_PLACES + place) × GROVE_LANES */           \
        uint32_t next[2]; /* positions: when the row's key is not greater, and when it is */                 \
    } name

GROVE_SPLIT(Split, int32_t);
GROVE_SPLIT(WideSplit, int64_t);

typedef struct Grove {
    Split *splits;   /* for rows of float32; NULL: the forest is wide */
    WideSplit *wide; /* for rows of float64 */
    uint32_t split_count;
    uint32_t *roots; /* in the order of trees */
    uint32_t root_count;
    uint32_t leaf_count;
    uint32_t *first_weights; /* of each leaf; behind the last one the number of weights */
    int32_t *targets;        /* of each weight */
    double *weights;
    double *bases;
    int64_t target_count;
    int64_t feature_max;
    TreeAggregate aggregate;
} Grove;

/* Lays a forest out; it may be freed then. */
MUST_USE Status grove_new(Call *call, const Forest *forest, bool is_wide, Grove **ret_grove);
void grove_free(Grove *grove); /* NULL is allowed */

/* Return the key of a number: a greater number has a greater key, 0 and -0 have one, `nan` stands for NaN. */
static inline int32_t
grove_key(float number, int32_t nan)
{
    int32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    int32_t key = bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
    key = number == 0 ? 0 : key;
    return number != number ? nan : key;
}

static inline int64_t
grove_wide_key(double number, int64_t nan)
{
    int64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    int64_t key = bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
    key = number == 0 ? 0 : key;
    return number != number ? nan : key;
}
