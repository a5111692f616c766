/* A plan: what one signature needs of a graph, placed on slots and cut into partitions. It names slots, never
 * workers, so that one plan serves any workers; dispatch binds slots to workers step by step.
 *
 * Compiling: resolve names → prune → infer shapes → simplify → heavy branches as calls → place on slots →
 * partition with transfers → digest.
 *
 * Ownership: refcounted; a plan owns all it shows and references the tensors of its blobs.
 * Threads:   immutable once compiled; compiling takes one thread, perhaps for long (hash of all weights).
 * Errors:    NOT_FOUND and INVALID_ARGUMENT name the feed, fetch, target or node; UNIMPLEMENTED an op nobody
 *            knows; INVALID_ARGUMENT a device request that cannot be honoured, with the reason. */
#pragma once

#include "gateway/plan/signature.h"
#include "shared/graph/graph.h"
#include "shared/json/writer.h"

enum {
    PLAN_DIGEST_SIZE = 65, /* sha256 in hex and a NUL */
    PLAN_TASK_NONE = -1,
    PLAN_BLOB_SIZE_MIN = 4096, /* constants of more bytes leave the partition */
};

typedef struct PlanSlot {
    const char *device_type; /* "CPU" */
    int32_t task;            /* the worker task that nodes asked for, or PLAN_TASK_NONE */
    bool keeps_state; /* its nodes name what the session keeps: it stays on one worker. In a session, each
                       * task is one such place, and all slots without a task together are one */
    uint64_t memory;  /* estimate: constants, and the most that is alive at once, in bytes */
    double cost;      /* estimate: arithmetic operations of one run */
} PlanSlot;

/* A constant that travels apart from the partition: raw little-endian elements, named by their sha256. */
typedef struct PlanBlob {
    char sha256[PLAN_DIGEST_SIZE];
    Tensor tensor;
} PlanBlob;

typedef struct PlanPartition {
    uint32_t slot;
    char digest[PLAN_DIGEST_SIZE]; /* sha256 of the document */
    Slice document;                /* canonical GraphDef JSON */
    uint32_t node_count;
    const PlanBlob *blobs; /* each digest once */
    size_t blob_count;
    const uint32_t *feeds; /* of _Arg i: the position in the plan's feeds */
    size_t feed_count;
    const uint32_t *fetches; /* of _Retval i: the position in the plan's fetches */
    size_t fetch_count;
} PlanPartition;

/* A tensor that goes from one slot to another, once, however many nodes there read it. */
typedef struct PlanTransfer {
    const char *tensor_name; /* "edge_0_conv1" */
    Slice node;              /* where it comes from */
    uint32_t from;
    uint32_t to;
    Dtype dtype;
    Shape shape;    /* as far as it is known */
    uint64_t bytes; /* estimate; unknown dimensions count 1 */
    Slice loop;     /* that it crosses in, once an iteration; "" outside of all loops */
    bool is_control;
} PlanTransfer;

/* Where a node runs and why. A copied node has one decision for each slot. */
typedef struct PlanDecision {
    Slice node;
    uint32_t slot;
    const char *why;
    Slice subject; /* the device asked for, or the other node; "" when `why` says all */
} PlanDecision;

/* A node that an optimising pass changed or made unnecessary. */
typedef struct PlanChange {
    const char *pass;
    Slice node;
    Slice into;   /* the node with which a worker computes it; "" when it was changed here */
    Slice reason; /* "" */
} PlanChange;

typedef struct Plan {
    int32_t reference_count; /* atomic */
    Arena *arena;
    const Slice *feeds; /* the signature's names, in canonical order */
    size_t feed_count;
    const Shape *feed_shapes; /* as far as the graph declares those it reads; scalars for the others */
    bool grows;               /* receives tell how they follow from what feed_shapes leave open */
    const Slice *fetches;
    size_t fetch_count;
    bool is_pure; /* no stateful op: may run twice */
    const PlanSlot *slots;
    size_t slot_count;
    const PlanPartition *partitions; /* one for each slot, in the slots' order */
    size_t partition_count;
    const PlanTransfer *transfers;
    size_t transfer_count;
    const PlanDecision *decisions;
    size_t decision_count;
    const PlanChange *changes; /* in the order they were made */
    size_t change_count;
    size_t byte_size; /* without the blobs, which the graph holds */
} Plan;

typedef struct PlanRequest {
    const Graph *graph;
    const Signature *signature; /* as signature_make() made it */
} PlanRequest;

/* Scratch memory comes from call->arena: about 350 bytes a node and 1,600 a transfer; with several slots and
 * feeds of open sizes three times the shapes of all nodes more. */
MUST_USE Status plan_compile(Call *call, const PlanRequest *request, Plan **ret_plan);

Plan *plan_ref(Plan *plan);
void plan_unref(Plan *plan); /* NULL is allowed */

static inline void
plan_unrefp(Plan **plan)
{
    plan_unref(*plan);
}
#define AUTO_PLAN CLEANUP(plan_unrefp) Plan *

/* What a feed of this name must be, before there is a plan: the dtype, and the shape as far as the graph's
 * placeholder says. Errors as compiling has them. */
MUST_USE Status plan_describe_feed(
    Call *call, const Graph *graph, Slice name, Dtype *ret_dtype, Shape *ret_shape);

/* The one size that these feeds, in the plan's order, have in every dimension that the graph leaves open; 0
 * when there are several, when a feed is still to come, and when no receive asks for it. */
int64_t plan_open_size(const Plan *plan, const Tensor *feeds);

/* Which of a plan's feeds have been given. */
typedef struct PlanFed {
    const Plan *plan;
    const bool *is_fed; /* by the plan's feed */
} PlanFed;

/* Whether these fetches, by their positions in the plan, can be computed from what has been given.
 * INVALID_ARGUMENT names one that cannot, and a feed it lacks. `graph` is what the plan was compiled from;
 * takes time and scratch memory in proportion to it. */
MUST_USE Status plan_check_fed(
    Call *call, const Graph *graph, const PlanFed *fed, const uint32_t *fetches, size_t count);

/* Members "slots", "partitions", "transfers", "nodes" and "changes", to go into an object that is open. */
void plan_write_json(JsonWriter *writer, const Plan *plan);
