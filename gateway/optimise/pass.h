/* One rewriting pass; a file in passes/ is one. Passes run in the order of their stages, then of their names,
 * until a whole round changes nothing.
 *
 * Exact passes keep every bit of every fetch. Others change how results are rounded, so they run here, before
 * the graph is cut, where the number of workers cannot matter. */
#pragma once

#include "gateway/optimise/rewrite.h"

typedef enum PassStage {
    PASS_CLEAN,    /* removes what does nothing, so that the others see through it */
    PASS_SIMPLIFY, /* replaces by something cheaper */
    PASS_FUSE,     /* puts several nodes into one */
    PASS_PLAN,     /* the planner's own, behind all others: no `run` */
    PASS_WORKER,   /* done by workers to their partitions, which name those that are off */
} PassStage;

typedef struct Pass {
    const char *name; /* as sessions switch it off: "identity" */
    PassStage stage;
    bool is_exact;
    Status (*run)(Rewrite *rewrite); /* NULL: not done here */
} Pass;

extern const Pass *const pass_table[];
extern const size_t pass_table_count;

#define PASS(function, pass_stage, exact)                                                                    \
    extern const Pass pass_##function;                                                                       \
    const Pass pass_##function = {                                                                           \
        .name = #function, .stage = (pass_stage), .is_exact = (exact), .run = (function)}
