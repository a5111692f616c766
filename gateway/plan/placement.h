/* Constraints on placement: which tasks nodes ask for, and which nodes must share a slot. placement.c obeys
 * them when it assigns slots; outline.c leaves a branching as it is when they would contradict a call.
 *
 *     device_request.c  the task and device that a node names
 *     loops.c           the edges of a loop that may not be cut
 *     group.c           all reasons to be together, as groups */
#pragma once

#include "gateway/plan/device_request.h"

bool is_constant_enter(const Node *node);

/* A function that is told, pair by pair, which nodes must share a slot. */
typedef struct NodeUnion {
    void *context;
    void (*unite)(void *context, uint32_t left, uint32_t right);
} NodeUnion;

/* Unites the nodes that a loop keeps together. */
MUST_USE Status unite_loops(const Compile *compile, const NodeUnion *unite);

/* Returns the next "x" of the "loc:@x" entries in the "_class" of the author's node, which may be NULL, from
 * *position on; false behind the last. */
bool next_colocation(const Node *author, size_t *position, Slice *ret_name);

/* Returns the groups of nodes that must share a slot, as the smallest id of each node's group. */
MUST_USE Status group_nodes(const Compile *compile, uint32_t **ret_groups);
