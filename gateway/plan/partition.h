/* Partitions while they are written. Inside gateway/plan. */
#pragma once

#include "gateway/plan/compile.h"

/* What one slot has so far. */
typedef struct Part {
    Buffer nodes;    /* NodeDef[] */
    Buffer feeds;    /* uint32_t[] */
    Buffer fetches;  /* uint32_t[] */
    Buffer blobs;    /* const PlanBlob *[] */
    Map *blob_names; /* the digests among them */
} Part;

typedef struct Partitioning {
    const Compile *compile;
    Part parts[PLAN_SLOT_COUNT_MAX];
    Buffer transfers; /* PlanTransfer[] */
    Buffer decisions; /* PlanDecision[] */
    size_t
        *output_starts; /* of each node, where its outputs begin in `sent`; its control edges come behind */
    uint16_t *sent;     /* of each output, a bit for each slot that receives it */
    uint16_t *copied;   /* of each node, a bit for each slot that has a copy */
    const PlanBlob **blobs; /* of each node, once it was asked for */
    bool has_no_memory;
} Partitioning;

/* The blob of a constant of more than PLAN_BLOB_SIZE_MIN bytes; NULL for any other. */
const PlanBlob *partition_blob(Partitioning *partitioning, const Node *node);

/* Once for each digest. */
void partition_add_blob(Partitioning *partitioning, uint32_t slot, const PlanBlob *blob);

/* Documents, digests, and everything copied into the plan. */
MUST_USE Status partition_seal(const Partitioning *partitioning, Plan *plan);
