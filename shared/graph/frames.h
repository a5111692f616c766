/* Finds the loop that each node of a linked graph belongs to. An Enter opens the frame that its frame_name
 * names, and an Exit returns to the frame around it; everything between is inside (TensorFlow's
 * BuildControlFlowInfo).
 *
 * A constant without control inputs belongs to no frame: nodes of any frame may read it, except a Merge,
 * which needs to know when a value comes.
 *
 * Ownership: everything lives in the caller's arena; names are the graph's.
 * Threads:   a pure function of the graph.
 * Errors:    INVALID_ARGUMENT names a node whose frame contradicts others, or is nested too deep. */
#pragma once

#include "shared/graph/graph.h"

static const uint32_t FRAME_ROOT = 0;
enum { FRAME_DEPTH_MAX = 64 }; /* loops within loops */

typedef struct GraphFrame {
    Slice name;      /* "" for the root */
    uint32_t parent; /* a smaller number; the root is its own parent */
    uint32_t depth;  /* 0 for the root */
    uint32_t enter;  /* the first node that opens it, in the author's order; NODE_NONE for the root */
    uint32_t enter_count;
    uint32_t loop_cond;           /* its LoopCond, or NODE_NONE */
    uint32_t parallel_iterations; /* at least 1; as the first Enter says */
} GraphFrame;

typedef struct GraphFrames {
    const GraphFrame *frames; /* outer frames before inner ones */
    uint32_t frame_count;     /* 1 when there are no loops */
    const uint32_t *inputs;   /* by node: the frame it runs in; that of an Enter is outside, of an Exit
                               * inside */
    const uint32_t *outputs;  /* by node: the frame of its outputs; that of an Enter is inside, of an Exit
                               * outside */
} GraphFrames;

MUST_USE Status graph_find_frames(Call *call, Arena *arena, const Graph *graph, GraphFrames *ret_frames);

/* Returns true for a constant that every frame may read. */
bool node_is_loose_constant(const Node *node);
