/* A plan: the part of a graph that one signature needs, assigned to slots and cut into partitions. It
 * names slots, never workers, so that one plan serves any workers; dispatch binds slots to workers step by
 * step.
 *
 * plan_compile.c lists the stages of compiling. Public functions beside it: plan.c (the plan itself),
 * resolve.c (plan_describe_feed), needs.c (plan_check_fed).
 *
 * Ownership: refcounted; a plan owns all it shows and references the tensors of its blobs.
 * Threads:   immutable once compiled, but for the average in computed_ns. One thread compiles, which may
 *            take long: it hashes all large weights that are not absent.
 * Errors:    NOT_FOUND and INVALID_ARGUMENT name the feed, fetch, target or node; UNIMPLEMENTED names an
 *            unknown op; INVALID_ARGUMENT for a device request that no worker could honour gives the reason.
 */
#pragma once

#include "gateway/plan/signature.h"
#include "shared/graph/graph.h"
#include "shared/json/writer.h"

enum {
    PLAN_DIGEST_SIZE = 65, /* SHA-256 in hex and a NUL */
    PLAN_TASK_NONE = -1,
    PLAN_BLOB_SIZE_MIN = 4096, /* larger constants become blobs, and all that are absent */
};

/* The use that a slot has for a GPU. */
typedef enum PlanGpu {
    PLAN_GPU_UNUSED, /* its nodes ask for the CPU, or there is too little to compute */
    PLAN_GPU_WANTED, /* it may use one and gains by it */
    PLAN_GPU_NEEDED, /* a node asks for one */
} PlanGpu;

typedef struct PlanSlot {
    PlanGpu gpu;
    Slice gpu_node;   /* the first node that asks for a GPU; "" unless one is needed */
    int32_t task;     /* the worker task that its nodes ask for, or PLAN_TASK_NONE */
    bool keeps_state; /* Nodes of the slot keep state in the session, so that it stays bound to one worker.
                       * In a session each task is one place, and all slots without a task together are
                       * one. */
    uint64_t memory;  /* estimate in bytes: constants, and the most that is alive at once */
    double cost;      /* estimate: arithmetic operations of one run */
    double free_cost; /* the part of it whose nodes do not ask for the CPU */
} PlanSlot;

/* A constant that travels apart from its partition: raw little-endian elements, named by their SHA-256. The
 * tensor of a weight that is a blob in the store is absent. */
typedef struct PlanBlob {
    char sha256[PLAN_DIGEST_SIZE];
    Tensor tensor;
} PlanBlob;

typedef struct PlanPartition {
    uint32_t slot;
    char digest[PLAN_DIGEST_SIZE]; /* SHA-256 of the document */
    Slice document;                /* canonical GraphDef JSON */
    uint32_t node_count;
    const PlanBlob *blobs; /* one for each digest */
    size_t blob_count;
    const uint32_t *feeds; /* by index of an _Arg: the position in the plan's feeds */
    size_t feed_count;
    const uint32_t *fetches; /* by index of a _Retval: the position in the plan's fetches */
    size_t fetch_count;
    const uint32_t *peers; /* slots that it sends tensors to or gets them from, in ascending order */
    size_t peer_count;
    uint32_t sender_count; /* slots that send to it */
} PlanPartition;

/* A tensor that goes from one slot to another: once, however many nodes there read it. */
typedef struct PlanTransfer {
    const char *tensor_name; /* "edge_0_conv1" */
    Slice node;              /* the node that gives it */
    uint32_t from;
    uint32_t to;
    Dtype dtype;
    Shape shape;    /* unknown dimensions are -1 */
    uint64_t bytes; /* estimate; an unknown dimension counts 1 */
    Slice loop;     /* the loop inside of which it crosses, once an iteration; "" outside of all loops */
    bool is_control;
} PlanTransfer;

/* The slot of a node, and why. A copied node has one decision for each slot. */
typedef struct PlanDecision {
    Slice node;
    uint32_t slot;
    const char *why;
    Slice subject;      /* the device or node that `why` speaks of; "" for none */
    const char *device; /* that it asks for: "/device:GPU:0"; "": the worker chooses */
} PlanDecision;

/* A node that an optimising pass changed or made unnecessary. */
typedef struct PlanChange {
    const char *pass;
    Slice node;
    Slice into;   /* the node with which a worker computes it; "" when the gateway changed it */
    Slice reason; /* "" for none */
} PlanChange;

typedef struct Plan {
    int32_t reference_count; /* atomic */
    Arena *arena;
    const Slice *feeds; /* names of the signature, in canonical order */
    size_t feed_count;
    const Shape *feed_shapes; /* as far as placeholders declare them; a scalar for a feed that nothing
                               * reads */
    bool grows;               /* receives tell how they follow from the open dimensions of feed_shapes */
    const Slice *fetches;
    size_t fetch_count;
    bool is_pure; /* has no lasting effect: may run twice */
    const PlanSlot *slots;
    size_t slot_count;
    const PlanPartition *partitions; /* by slot */
    size_t partition_count;
    const PlanTransfer *transfers;
    size_t transfer_count;
    const PlanDecision *decisions;
    size_t decision_count;
    const PlanChange *changes; /* in the order in which they were made */
    size_t change_count;
    size_t byte_size;     /* without blobs, whose memory is the graph's */
    uint64_t computed_ns; /* atomic: average device time of its steps; 0: none has ended */
} Plan;

typedef struct PlanRequest {
    const Graph *graph;
    const Signature *signature; /* made by signature_make() */
    uint32_t slot_count_max;    /* with the tasks that nodes ask for; 0: PLAN_SLOT_COUNT_MAX */
} PlanRequest;

/* Compiles a plan. Scratch memory from call->arena is about 350 bytes a node and 1,600 a transfer; with
 * several slots and open feeds, the shapes of all nodes count three times more. */
MUST_USE Status plan_compile(Call *call, const PlanRequest *request, Plan **ret_plan);

/* Notes what a step took of device time. */
void plan_note_computed(Plan *plan, uint64_t computed_ns);

Plan *plan_ref(Plan *plan);
void plan_unref(Plan *plan); /* NULL is allowed */

static inline void
plan_unrefp(Plan **plan)
{
    plan_unref(*plan);
}
#define AUTO_PLAN CLEANUP(plan_unrefp) Plan *

/* Returns what a feed of this name must be, before there is a plan: its dtype, and its shape as far as a
 * placeholder declares it. Errors as plan_compile(), whose messages do not name the feed. */
MUST_USE Status plan_describe_feed(
    Call *call, const Graph *graph, Slice name, Dtype *ret_dtype, Shape *ret_shape);

/* Returns the one size that the feeds, in the plan's order, have in every dimension that the graph leaves
 * open; 0 when sizes differ, when a feed is still to come, or when no receive needs the size. */
int64_t plan_open_size(const Plan *plan, const Tensor *feeds);

/* The feeds of a partial run that have been given. */
typedef struct PlanFed {
    const Plan *plan;
    const bool *is_fed; /* by feed of the plan */
} PlanFed;

/* Checks that the fetches, positions in the plan's list, can be computed from the feeds given so far.
 * INVALID_ARGUMENT names a fetch that cannot, and the feed that it lacks. `graph` is what the plan was
 * compiled from; takes time and scratch memory in proportion to it. */
MUST_USE Status plan_check_fed(
    Call *call, const Graph *graph, const PlanFed *fed, const uint32_t *fetches, size_t count);

/* Writes the members "slots", "partitions", "transfers", "nodes" and "changes" into an object that is open.
 * `free_device` is the device of nodes that ask for none; NULL: their worker chooses. */
void plan_write_json(JsonWriter *writer, const Plan *plan, const char *free_device);
