/* Matches functions of one value as graphs spell them out, node by node.
 *
 * Threads: one. */
#pragma once

#include "gateway/optimise/rewrite.h"

/* The state of matching one node. */
typedef struct Match {
    const Rewrite *rewrite;
    uint32_t *const *counts; /* rewrite_count_readers() */
    Endpoint x;              /* the value */
} Match;

/* Returns false for a node with control inputs, which must stay. */
bool match_is_any_of(const Match *match, Endpoint endpoint, const char *const *ops, size_t op_count);
#define MATCH_IS_ANY_OF(match, endpoint, ops) match_is_any_of(match, endpoint, ops, COUNT_OF(ops))

bool match_is_x(const Match *match, Endpoint endpoint);

Endpoint match_input(const Match *match, Endpoint endpoint, uint32_t index);

/* Returns whether only this node reads the one behind the endpoint. */
bool match_is_private(const Match *match, Endpoint endpoint, uint32_t reader);

/* Finds the operand beside one that is this number. */
bool match_take_number(const Match *match, Endpoint endpoint, double number, Endpoint *ret_other);

/* Returns whether node `id` gives float32 of the rank of x. */
bool match_keeps_shape(const Match *match, uint32_t id);
