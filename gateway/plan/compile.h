/* The state of one compilation, and the memory that its stages take. Every stage is a file (stages.h) that
 * fills its own part of this struct and reads the parts of the stages before it.
 *
 * Ownership: everything lives in call->arena; what the plan keeps is copied at the end (seal.c).
 * Threads:   one thread compiles; nothing is shared. */
#pragma once

#include "gateway/optimise/optimise.h"
#include "gateway/plan/plan.h"
#include "shared/graph/frames.h"

#define SLOT_NONE UINT32_MAX
#define SLOT_COPIED (UINT32_MAX - 1) /* the node has a copy on every slot that reads it */
#define FEED_NONE UINT32_MAX

enum { GROWTH_PROBES = 3 };

/* The weight of the functions behind a call, which its own node does not show. */
typedef struct CallWeight {
    uint64_t constant_bytes; /* sum over all branches */
    double cost;             /* of the dearest branch */
} CallWeight;

/* The device that a node asks for, if any. */
typedef enum DeviceAsk {
    DEVICE_ANY, /* the worker chooses */
    DEVICE_CPU,
    DEVICE_GPU_OR_ANY, /* a GPU, under soft placement: the worker chooses, but should have one */
    DEVICE_GPU,
} DeviceAsk;

/* A job that the graph's devices name, with as many tasks as the highest number that they name. */
typedef struct Job {
    Slice name;
    int64_t task_count;
    int64_t first; /* the number of its task 0 among the tasks of all jobs */
} Job;

typedef struct Compile {
    Call *call;
    const PlanRequest *request;
    const Graph *source; /* the author's graph */

    /* Filled by jobs.c, sorted by name: all jobs of the author's graph but "localhost". */
    Job *jobs;
    size_t job_count;

    /* Filled by resolve.c, in the order of the signature. */
    Endpoint *feeds;
    Dtype *feed_dtypes;
    Endpoint *fetches;
    uint32_t *targets;
    Map *feed_map; /* Endpoint → its element of `feeds` */

    /* Filled by prune.c; simplify.c and outline.c replace the graph and what is known of its nodes. */
    GraphDef *def;
    Graph *graph; /* what the signature needs, with an _Arg for each feed and a _Retval for each fetch */
    const Node **origins; /* by node: the author's node it comes from; NULL for _Arg and _Retval */
    uint32_t *ports;      /* by node: the feed of an _Arg, the fetch of a _Retval, as an index; else 0 */
    bool *is_target;      /* by node */

    /* Filled by loops.c: the loops of `graph`. */
    GraphFrames frames;

    /* Filled by shapes.c. */
    const Shape *const *shapes; /* [node][port] */
    Shape *feed_shapes; /* as far as placeholders declare them; a scalar for a feed that nothing reads */
    const Shape *const *probes[GROWTH_PROBES]; /* as `shapes`, with the open dimensions of feeds set */
    bool grows;                                /* `probes` are there */

    /* Filled by simplify.c. */
    Optimised optimised;

    /* Filled by outline.c. */
    const CallWeight *inside; /* by node; NULL when nothing is called */
    PlanChange *calls;
    size_t call_count;

    /* Filled by placement.c. */
    uint32_t *slots;   /* by node; SLOT_COPIED for a node that is copied to its readers */
    const char **whys; /* by node: the reason for its slot … */
    Slice *subjects;   /* … and the device or node that the reason names, perhaps "" */
    int32_t slot_tasks[PLAN_SLOT_COUNT_MAX];
    uint32_t slot_count;

    /* Filled by device_choice.c. */
    DeviceAsk *asks; /* by node */

    /* Filled by fusions.c. */
    uint32_t *fusions; /* by node: the node that it will be computed with, perhaps itself */

    bool is_pure; /* no node has an effect beyond the step */
} Compile;

/* Returns zeroed memory in the call's arena; NULL without memory, or when the size overflows. */
void *compile_alloc(const Compile *compile, size_t count, size_t size);

/* Returns an empty map that is freed with the call's arena; NULL without memory. */
Map *compile_map(const Compile *compile);

MUST_USE Status compile_no_memory(const Compile *compile);

/* Take over the caller's reference and drop it with the call's arena. Return NULL without memory, and for
 * NULL; the reference is dropped at once then. */
GraphDef *compile_keep_def(const Compile *compile, GraphDef *def);
Graph *compile_keep_graph(const Compile *compile, Graph *graph);

/* Links a definition that a stage has written, internal ops allowed; the graph lives as long as the call. */
MUST_USE Status compile_link(const Compile *compile, GraphDef *def, Graph **ret_graph);

/* The bytes under which maps keep an endpoint. */
Slice compile_endpoint_key(const Endpoint *endpoint);

#define JOB_LOCALHOST "localhost"

/* Returns the job of this name; NULL for one that the graph does not name, and for "". */
const Job *compile_find_job(const Compile *compile, Slice name);

/* Returns the position in `feeds` of the feed that replaces the endpoint, or FEED_NONE. */
uint32_t compile_find_feed(const Compile *compile, Endpoint endpoint);

static inline bool
op_is(const Node *node, const char *op)
{
    return slice_equals_string(node->def->op, op);
}
