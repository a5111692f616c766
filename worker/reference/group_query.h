/* The kernels of com.microsoft::GroupQueryAttention share this: it checks the inputs, makes them float32, and
 * lays down the present. Each kernel weighs the heads by a GroupAttend of its own.
 *
 * Ownership: the GroupWork lives while the kernel computes.
 * Threads:   any; those of the work's functions that take an example or a head, for several at once. */
#pragma once

#include "shared/ops/group_query.h"
#include "worker/runtime/kernel.h"

typedef struct GroupWork {
    GroupQuery query;
    const float *inputs[GROUP_INPUTS]; /* floating ones; NULL: absent */
    const int64_t *positions;          /* [batch, length]; NULL: they follow from the lengths */
    const int32_t *lengths;
    float *output;
    float *keys;
    float *values;
    int64_t bias_batch; /* 0: one for all */
    int64_t bias_head;
    int64_t bias_keys;
    int64_t window; /* keys that a token sees, its own among them; 0: all */
    double scale;
    double softcap; /* 0: none */
    bool is_smooth; /* a score of 0 that no key has counts, too */
    bool is_prompt; /* nothing is in the past */
    bool is_interleaved;
} GroupWork;

/* Computes the output, and the present by group_query_lay(). */
typedef Status (*GroupAttend)(KernelContext *context, GroupWork *work);

MUST_USE Status group_query_run(KernelContext *context, GroupAttend attend);

/* Computes all heads in double: what the reference kernel does. */
MUST_USE Status group_query_attend(KernelContext *context, GroupWork *work);

/* Fills the present of one head of one example, example × key_heads + head, of the GroupWork; what is behind
 * the new tokens is zero. */
void group_query_lay(void *context, int64_t index);

/* Rotates a token's head of the query, or copies it when nothing is rotated. */
void group_query_rotate(const GroupWork *work, int64_t example, int64_t head, int64_t token, float *ret_head);
