/* One compilation on its way from step to step; each step is a file and fills its part. Inside gateway/plan.
 *
 * Ownership: everything lives in call->arena, but for what plan->arena will keep.
 * Threads:   one. */
#pragma once

#include "gateway/optimise/optimise.h"
#include "gateway/plan/device_name.h"
#include "gateway/plan/plan.h"
#include "shared/graph/frames.h"

#define SLOT_NONE UINT32_MAX
#define SLOT_COPIED (UINT32_MAX - 1)
#define FEED_NONE UINT32_MAX

enum { GROWTH_PROBES = 3 };

/* What is inside of a call, beside what its node shows. */
typedef struct CallWeight {
    uint64_t constant_bytes; /* of all branches */
    double cost;             /* of the dearest */
} CallWeight;

typedef struct Compile {
    Call *call;
    const PlanRequest *request;
    const Graph *source; /* as the author wrote it */

    /* resolve.c: positions are the signature's. */
    Endpoint *feeds;
    Dtype *feed_dtypes;
    Endpoint *fetches;
    uint32_t *targets;
    Map *feed_map; /* Endpoint → its place in `feeds` */

    /* prune.c */
    GraphDef *def;
    Graph *graph; /* what the signature needs, with an _Arg for each feed and a _Retval for each fetch */
    const Node **origins; /* of each node of `graph`: the author's; NULL for _Arg and _Retval */
    uint32_t *ports;      /* of an _Arg or _Retval: the position of its feed or fetch; 0 else */
    bool *is_target;

    /* loops.c */
    GraphFrames frames; /* of `graph` */

    /* estimate.c */
    const Shape *const *shapes;
    Shape
        *feed_shapes; /* of each feed, as far as its placeholder says; of one that is not needed, a scalar */

    /* growth.c */
    const Shape *const *probes[GROWTH_PROBES]; /* shapes for other sizes of what the feeds leave open */
    bool grows;                                /* they are there */

    /* simplify.c */
    Optimised optimised;

    /* outline.c */
    const CallWeight *inside; /* of each node; NULL when nothing is called */
    bool is_pure;             /* nothing has an effect beyond the step */
    PlanChange *calls;
    size_t call_count;

    /* place.c */
    uint32_t *slots;   /* of each node; SLOT_COPIED: wherever it is read */
    const char **whys; /* of each node */
    Slice *subjects;   /* … and of what that speaks */
    int32_t slot_tasks[PLAN_SLOT_COUNT_MAX];
    uint32_t slot_count;

    /* fusions.c */
    uint32_t *fusions; /* of each node: that with which it will be computed, perhaps itself */
} Compile;

/* A zeroed list in the call's arena. */
void *compile_alloc(const Compile *compile, size_t count, size_t size);
/* An empty map that goes with the call's arena; NULL without memory. */
Map *compile_map(const Compile *compile);
MUST_USE Status compile_no_memory(const Compile *compile);
/* Copies what points into the graph or the call's arena to the plan's; false without memory. */
MUST_USE bool plan_own_text(const Plan *plan, Slice *text);

static inline bool
op_is(const Node *node, const char *op)
{
    return slice_equals_string(node->def->op, op);
}

/* Names → endpoints. */
MUST_USE Status resolve_names(Compile *compile);
MUST_USE Status resolve_feed(
    Call *call, const Graph *graph, const SignatureFeed *feed, Endpoint *ret_endpoint, Dtype *ret_dtype);
/* What the feed's placeholder allows; unknown for any other node. */
Shape resolve_feed_shape(const Graph *graph, Endpoint endpoint);
uint32_t compile_find_feed(const Compile *compile, Endpoint endpoint); /* FEED_NONE */

/* source → graph. */
MUST_USE Status prune(Compile *compile);

/* Shapes of all outputs. */
MUST_USE Status infer_shapes(Compile *compile);
/* … with this size wherever feeds leave one open; -1: leaves it open. */
MUST_USE Status infer_shapes_for(
    const Compile *compile, Call *call, int64_t open_size, const Shape *const **ret_shapes);
/* graph → a cheaper one, with all that is known of its nodes. */
MUST_USE Status simplify(Compile *compile);

/* Heavy branches → functions that a node calls (outline.h). */
MUST_USE Status outline(Compile *compile);

double estimate_cost(const Compile *compile, const Node *node); /* arithmetic operations */
uint64_t estimate_bytes(const Compile *compile, const Node *node, uint32_t port);
/* Fills memory and cost of every slot. */
MUST_USE Status estimate_slots(const Compile *compile, PlanSlot *slots);

/* The "x" of each "loc:@x" that the author's node (NULL: none) asks for in "_class", from *position on; false
 * behind the last. */
bool next_colocation(const Node *author, size_t *position, Slice *ret_name);

/* Which nodes must share a slot: ret_groups[node] is the smallest id of its group. */
MUST_USE Status group_nodes(const Compile *compile, uint32_t **ret_groups);

/* frames. INVALID_ARGUMENT when loops contradict each other, or a fetch is inside one. */
MUST_USE Status find_loops(Compile *compile);
/* INVALID_ARGUMENT when a feed is inside a loop. */
MUST_USE Status check_feeds(const Compile *compile);
bool is_constant_enter(const Node *node);

/* Tells which nodes must share a slot, pair by pair. */
typedef struct NodeUnion {
    void *context;
    void (*nodes)(void *context, uint32_t left, uint32_t right);
} NodeUnion;
MUST_USE Status unite_loops(const Compile *compile, const NodeUnion *unite);

/* The worker task a node asks for, or PLAN_TASK_NONE; refused with the reason when nobody can give it. */
MUST_USE Status device_request(const Compile *compile, const Node *node, int32_t *ret_task);

/* slots, whys, subjects, slot_tasks. */
MUST_USE Status place(Compile *compile);

/* fusions. */
MUST_USE Status find_fusions(Compile *compile);

/* probes, when slots could profit from them. */
MUST_USE Status find_growth(Compile *compile);
/* For the receive of an output: how its dimensions follow from the size that feeds leave open, as pairs of
 * scale and offset; a list of NULL without memory. False when its shape is known, or no rule is. */
bool growth_attr(const Compile *compile, Endpoint endpoint, Attr *ret_attr);

/* Partitions, transfers, decisions, blobs, digests: into the plan. */
MUST_USE Status partition(Compile *compile, Plan *plan);
