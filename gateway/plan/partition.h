/* The partitions while they are written: one GraphDef for each slot, with the transfers between them.
 *
 *     partition_emit.c  names, attributes and blobs that nodes are written of
 *     partition_node.c  a node with its inputs: copies, sends and receives
 *     control_loops.c   what drives the part of a loop on each slot
 *     partition.c       all nodes and functions, in order
 *     seal.c            the plan, in memory of its own
 *
 * Ownership: lists are freed by partitioning_done(), everything else lives in the call's arena.
 * Errors:    most functions only note missing memory; partition_graph() looks for that once, at its end. */
#pragma once

#include "gateway/plan/compile.h"

/* The partition of one slot so far. */
typedef struct Part {
    Buffer nodes;     /* NodeDef[] */
    Buffer functions; /* FunctionDef[]: those that the nodes call, inner ones first */
    Buffer feeds;     /* uint32_t[]: of each _Arg, its feed in the signature */
    Buffer fetches;   /* uint32_t[]: of each _Retval, its fetch in the signature */
    Buffer blobs;     /* const PlanBlob *[] */
    Map *blob_names;  /* the digests among them */
} Part;

typedef struct Partitioning {
    const Compile *compile;
    Part parts[PLAN_SLOT_COUNT_MAX];
    Buffer transfers; /* PlanTransfer[] */
    Buffer decisions; /* PlanDecision[] */
    size_t
        *output_starts; /* by node: its first output in `sent`; its control edges count as one more output */
    uint16_t *sent;     /* by output: a bit for each slot that receives it */
    uint16_t *copied;   /* by node: a bit for each slot that has a copy */
    uint16_t *loop_slots;   /* by loop: a bit for each slot that has a part of it */
    const PlanBlob **blobs; /* by node, once it was asked for */
    bool has_no_memory;
} Partitioning;

static_assert(PLAN_SLOT_COUNT_MAX <= 16, "a set of slots has 16 bits");

static inline bool
slots_have(uint16_t slots, uint32_t slot)
{
    return (slots & 1u << slot) != 0;
}

static inline void
slots_add(uint16_t *slots, uint32_t slot)
{
    *slots = (uint16_t)(*slots | 1u << slot);
}

/* Appends a node to the slot's partition. A name, list of inputs or of attributes that is NULL is noted as
 * missing memory, so that the functions below can be called in place. */
void partition_emit(Partitioning *partitioning, uint32_t slot, const NodeDef *def);

/* Appends an empty float constant, which stands for a control signal. */
void partition_emit_signal(
    Partitioning *partitioning, uint32_t slot, Slice name, const Slice *inputs, size_t input_count);

/* Pieces of a node, in the call's arena; NULL, or a slice of NULL, without memory. */
Slice partition_name(const Partitioning *partitioning, const char *prefix, Slice name);
const Slice *partition_inputs(const Partitioning *partitioning, const Slice *texts, size_t count);
Attr *partition_attrs(const Partitioning *partitioning, const Attr *attrs, size_t count);
Attr partition_type_attr(Slice name, Dtype dtype);
Attr partition_string_attr(Slice name, Slice value);

/* The name of a node of the loop's control loop: "_cloop_<part>_<name of the loop's Enter>". */
Slice partition_loop_part(const Partitioning *partitioning, uint32_t frame, const char *part);

/* Returns a blob of a constant that is absent or has more than PLAN_BLOB_SIZE_MIN bytes; NULL for a smaller
 * one, or without memory. */
PlanBlob *partition_new_blob(Partitioning *partitioning, const Tensor *tensor);

/* Makes the node a _BlobConst, and notes that the slot needs the blob, once for each digest. */
void partition_use_blob(Partitioning *partitioning, uint32_t slot, const PlanBlob *blob, NodeDef *def);

void partition_digest(Slice bytes, char ret_hex[PLAN_DIGEST_SIZE]);

/* Writes the node into the slot's partition, behind whatever it reads there. */
void partition_emit_node(Partitioning *partitioning, const Node *node, uint32_t slot);

/* Returns how nodes of the slot name the tensor, once what must stand before them is written. */
Slice partition_data_input(Partitioning *partitioning, Endpoint endpoint, uint32_t slot);

/* Writes control loops for all loops that lie on several slots. */
MUST_USE Status partition_control_loops(Partitioning *partitioning);

/* Writes all partitions of partitioning->compile. The rest of the struct is zero before. */
MUST_USE Status partition_graph(Partitioning *partitioning);

/* Makes the plan: partitions as documents with digests, and copies of all that the plan tells. */
MUST_USE Status seal_plan(const Partitioning *partitioning, Plan **ret_plan);

void partitioning_done(Partitioning *partitioning);
