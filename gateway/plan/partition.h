/* Partitions while they are written. Inside gateway/plan. */
#pragma once

#include "gateway/plan/compile.h"

/* What one slot has so far. */
typedef struct Part {
    Buffer nodes;     /* NodeDef[] */
    Buffer functions; /* FunctionDef[]: what the nodes call, inner ones first */
    Buffer feeds;     /* uint32_t[] */
    Buffer fetches;   /* uint32_t[] */
    Buffer blobs;     /* const PlanBlob *[] */
    Map *blob_names;  /* the digests among them */
} Part;

typedef struct Partitioning {
    const Compile *compile;
    Part parts[PLAN_SLOT_COUNT_MAX];
    Buffer transfers; /* PlanTransfer[] */
    Buffer decisions; /* PlanDecision[] */
    size_t
        *output_starts;   /* of each node, where its outputs begin in `sent`; its control edges come behind */
    uint16_t *sent;       /* of each output, a bit for each slot that receives it */
    uint16_t *copied;     /* of each node, a bit for each slot that has a copy */
    uint16_t *loop_slots; /* of each loop, a bit for each slot that has a part of it */
    const PlanBlob **blobs; /* of each node, once it was asked for */
    bool has_no_memory;
} Partitioning;

/* Appends a node to a slot's; notes when parts of it are missing for want of memory. */
void partition_emit(Partitioning *partitioning, uint32_t slot, const NodeDef *def);

/* Pieces of a node, in the call's arena; NULL, or a slice of NULL, without memory. */
Slice partition_name(const Partitioning *partitioning, const char *prefix, Slice name);
const Slice *partition_inputs(const Partitioning *partitioning, const Slice *texts, size_t count);
Attr *partition_attrs(const Partitioning *partitioning, const Attr *attrs, size_t count);
Attr partition_type(Slice name, Dtype dtype);

/* How `slot` names the tensor, after whatever must be there first has been written. */
Slice partition_data_input(Partitioning *partitioning, Endpoint endpoint, uint32_t slot);

/* Control loops for all loops that lie on several slots. */
MUST_USE Status emit_control_loops(Partitioning *partitioning);
/* What a receive inside the loop waits for. */
Slice control_loop_input(const Partitioning *partitioning, uint32_t frame);

/* The blob of a constant of more than PLAN_BLOB_SIZE_MIN bytes; NULL for any other. */
const PlanBlob *partition_blob(Partitioning *partitioning, const Node *node);
PlanBlob *partition_new_blob(Partitioning *partitioning, const Tensor *tensor);
/* The node as _BlobConst. */
void partition_name_blob(Partitioning *partitioning, const PlanBlob *blob, NodeDef *def);

/* The functions that the graph's nodes call, to the slots of those nodes. */
MUST_USE Status emit_functions(Partitioning *partitioning);

/* Once for each digest. */
void partition_add_blob(Partitioning *partitioning, uint32_t slot, const PlanBlob *blob);

/* Documents, digests, and everything copied into the plan. */
MUST_USE Status partition_seal(const Partitioning *partitioning, Plan *plan);
