/* One optimising pass, which is a file of passes/. Passes run in the order of their stages, then of their
 * names, until a whole round changes nothing.
 *
 * Exact passes keep every bit of every fetch. The others change how results are rounded; they run before
 * the graph is cut, so that the number of workers does not change results. */
#pragma once

#include "gateway/optimise/rewrite.h"

typedef enum PassStage {
    PASS_CLEAN,    /* removes nodes that do nothing, so that later passes see through them */
    PASS_SIMPLIFY, /* replaces nodes by something cheaper */
    PASS_FUSE,     /* makes one node of several */
    PASS_PLAN,     /* done by the planner after all others; has no `run` */
    PASS_WORKER,   /* done by workers to their partitions, which name the passes that are off */
} PassStage;

typedef struct Pass {
    const char *name; /* the name by which sessions switch it off: "identity" */
    PassStage stage;
    bool is_exact;
    Status (*run)(Rewrite *rewrite); /* NULL for PASS_PLAN and PASS_WORKER */
} Pass;

extern const Pass *const pass_table[];
extern const size_t pass_table_count;

#define PASS(function, pass_stage, exact)                                                                    \
    extern const Pass pass_##function;                                                                       \
    const Pass pass_##function = {                                                                           \
        .name = #function, .stage = (pass_stage), .is_exact = (exact), .run = (function)}
