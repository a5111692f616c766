/* Which loop each node of a linked graph belongs to. An Enter opens the frame that its frame_name names, an
 * Exit goes back to the frame around it; everything between is inside (TensorFlow's BuildControlFlowInfo).
 *
 * A constant without control inputs belongs nowhere: it may be read in any frame, but by a Merge, which must
 * be told when a value comes.
 *
 * Ownership: everything lives in the caller's arena; names are the graph's.
 * Threads:   a pure function of the graph.
 * Errors:    INVALID_ARGUMENT naming the node whose frame contradicts the others', or is nested too deep. */
#pragma once

#include "shared/graph/graph.h"

static const uint32_t FRAME_ROOT = 0;
enum { FRAME_DEPTH_MAX = 64 }; /* loops within loops */

typedef struct GraphFrame {
    Slice name;      /* "" for the root */
    uint32_t parent; /* a smaller number; the root is its own */
    uint32_t depth;  /* 0 for the root */
    uint32_t enter;  /* the first node that opens it in the author's order; NODE_NONE for the root */
    uint32_t enter_count;
    uint32_t loop_cond;           /* its LoopCond, or NODE_NONE */
    uint32_t parallel_iterations; /* at least 1; as the first Enter says */
} GraphFrame;

typedef struct GraphFrames {
    const GraphFrame *frames; /* an outer one before those inside it */
    uint32_t frame_count;     /* 1: there are no loops */
    const uint32_t *inputs;   /* of each node: where it runs; an Enter outside, an Exit inside */
    const uint32_t *outputs;  /* of each node: where its outputs go; an Enter's inside, an Exit's outside */
} GraphFrames;

MUST_USE Status graph_find_frames(Call *call, Arena *arena, const Graph *graph, GraphFrames *ret_frames);

/* A constant that every frame may read. */
bool node_is_loose_constant(const Node *node);
