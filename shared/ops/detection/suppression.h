/* Non-maximum suppression: boxes are taken in the order of their scores, but for those that overlap one taken
 * before too much. Rules: TensorFlow's non_max_suppression_op.cc and ONNX Runtime's NonMaxSuppression, which
 * agree: of boxes with equal scores the first one is taken first.
 *
 * Boxes are normalised first: their lower and higher sides, and areas, each in an array of its own, so that
 * one box is compared with several at once.
 *
 * Threads: any; a search has one thread. */
#pragma once

#include "worker/runtime/kernel.h"

enum {
    BOX_SIDES = 4,
    BOX_ARRAYS = 5,     /* low y, low x, high y, high x, area */
    SELECTED_BLOCK = 16 /* boxes that are compared at once */
};

typedef struct SuppressionRule {
    int64_t box_count;
    int64_t size_max; /* boxes that may be chosen in one search: at most box_count */
    int64_t score_step;
    float overlap_max;
    float score_min; /* scores must be above it */
    bool takes_all;  /* there is no score_min */
    float sigma;     /* of soft suppression, which lowers scores instead; 0: there is none */
    bool is_half;    /* overlaps and scores are rounded to float16, as their dtype is */
} SuppressionRule;

/* One search, over the scores of one class. */
typedef struct SuppressionSearch {
    const SuppressionRule *rule;
    const float *scores;
    const float *boxes;    /* normalised */
    const float *overlaps; /* a matrix of them, in place of boxes; NULL: there is none */
    uint64_t *keys;        /* room for box_count; the chosen ones stand at its end, the first one last */
    float *chosen;         /* room for suppression_room() floats, which searches may use in turn */
    int32_t *begins;       /* room for box_count, when the suppression is soft; else NULL */
} SuppressionSearch;

static inline int64_t
suppression_room(const SuppressionRule *rule)
{
    return (rule->size_max + SELECTED_BLOCK) * BOX_ARRAYS;
}

/* Normalises `count` boxes that are `step` floats apart: two corners in any order, or a centre with width and
 * height. */
void boxes_normalise(const float *boxes, int64_t step, int64_t count, bool is_centre, float *ret_arrays);

/* Returns how many boxes were chosen. */
int64_t suppression_run(const SuppressionSearch *search);

/* Chosen box number `n` of a search, its score, and a key of a score: larger for larger ones, and for lower
 * indices among equal ones. */
uint32_t suppression_index(const SuppressionSearch *search, int64_t n);
float suppression_score(const SuppressionSearch *search, int64_t n);
uint64_t suppression_key(float score, uint32_t index);

/* Takes the largest key of a heap that heap_make() has made. */
void heap_make(uint64_t *keys, int64_t count);
uint64_t heap_take(uint64_t *keys, int64_t *count);
