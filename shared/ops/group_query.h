/* com.microsoft::GroupQueryAttention: the heads of a decoder, of which several queries share a key and a
 * value. Each example of a batch has seen another number of tokens; keys and values lie in a buffer behind
 * those. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

enum {
    GROUP_QUERY,
    GROUP_KEY, /* absent: query holds all three, side by side */
    GROUP_VALUE,
    GROUP_PAST_KEY,
    GROUP_PAST_VALUE,
    GROUP_LENGTHS, /* tokens of each example without one, those of the past among them */
    GROUP_TOTAL,   /* the most of these */
    GROUP_COSINES,
    GROUP_SINES,
    GROUP_POSITIONS,
    GROUP_BIAS,
    GROUP_SINK,
    GROUP_INPUTS
};

/* Dimensions; -1: unknown. */
typedef struct GroupQuery {
    int64_t batch;
    int64_t length; /* tokens of the query */
    int64_t heads;
    int64_t key_heads;
    int64_t size;    /* of a head */
    int64_t width;   /* of all heads of the output */
    int64_t past;    /* room for tokens of the past */
    int64_t present; /* room for tokens of the present */
    int64_t total;   /* the most tokens of an example, those of the past among them */
    int64_t turned;  /* numbers of a head that are rotated, an even number; 0: none */
} GroupQuery;

/* Query's rank is known. INVALID_ARGUMENT for inputs that do not fit. */
MUST_USE Status group_query_read(Call *call, const InferContext *context, GroupQuery *ret_query);
