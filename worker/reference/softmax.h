/* The softmax of one line of scores.
 * Threads: any. */
#pragma once

#include <stdint.h>

/* Replaces `count` scores that are `step` apart: e^score over the sum of all, where the largest score is
 * subtracted from each first. */
void softmax_line(double *scores, int64_t count, int64_t step);
