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
    Slice gpu_node;   /* the first node that asks for a GPU; empty: none does */
    bool wants_gpu;   /* some node would be on a GPU if there is one */
} Part;

/* One set of slots for each of many things, with a bit for each slot of the plan. */
typedef struct SlotSets {
    uint64_t *words;
    size_t set_words; /* words of one set */
} SlotSets;

typedef struct Partitioning {
    const Compile *compile;
    Part *parts;      /* by slot; NULL before they are made */
    Buffer transfers; /* PlanTransfer[] */
    Buffer decisions; /* PlanDecision[] */
    size_t
        *output_starts;  /* by node: its first output in `sent`; its control edges count as one more output */
    SlotSets sent;       /* by output: the slots that receive it */
    SlotSets copied;     /* by node: the slots that have a copy */
    SlotSets loop_slots; /* by loop: the slots that have a part of it */
    const PlanBlob **blobs; /* by node, once it was asked for */
    bool has_no_memory;
} Partitioning;

/* Makes empty sets for the slots of the plan. `words` is NULL without memory. */
static inline SlotSets
slot_sets_new(const Compile *compile, size_t count)
{
    enum { WORD_BITS = 64 };
    size_t set_words = (compile->slot_count + WORD_BITS - 1) / WORD_BITS;
    return (SlotSets){
        .words = compile_alloc(compile, count, set_words * sizeof(uint64_t)), .set_words = set_words};
}

static inline bool
slot_sets_have(SlotSets sets, size_t index, uint32_t slot)
{
    return (sets.words[index * sets.set_words + slot / 64] >> slot % 64 & 1) != 0;
}

static inline void
slot_sets_add(SlotSets sets, size_t index, uint32_t slot)
{
    sets.words[index * sets.set_words + slot / 64] |= UINT64_C(1) << slot % 64;
}

/* Adds all slots of another set. */
static inline void
slot_sets_add_all(SlotSets sets, size_t index, size_t other)
{
    for (size_t word = 0; word < sets.set_words; word++) {
        sets.words[index * sets.set_words + word] |= sets.words[other * sets.set_words + word];
    }
}

/* Returns the device that a node of this request names in its partition; "": the worker chooses. */
const char *partition_device(DeviceAsk ask);

/* Notes what a node of the slot asks for. */
void partition_note_ask(Part *part, DeviceAsk ask, Slice node);

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
