/* A compiled partition: the nodes that one slot runs, linked, with kernels and constants, in a schedule
 * that any number of runs share at the same time.
 *
 * Beside ordinary nodes it has _Arg and _Retval (feeds and fetches by index), _Send and _Recv, and
 * _BlobConst (a constant whose bytes are a blob, named by its SHA-256).
 *
 * Ownership: refcounted; holds its graph, the states of its kernels, its constants and their blobs. The
 * device outlives it.
 * Threads:   immutable except for measured costs and the pool of idle runs, which are synchronised.
 * Errors:    only those of compiling (compile.h). */
#pragma once

#include "shared/graph/graph.h"
#include "worker/runtime/partition/weights.h"

typedef struct Partition Partition;

/* A source of blobs: find() returns a new reference to the blob's bytes, or NULL when it is not here.
 * `sha256` is lower-case hex. */
typedef struct BlobSource {
    void *context;
    TensorBuffer *(*find)(void *context, Slice sha256);
    Weights
        *weights; /* where they lie in the accelerator's memory; NULL: a partition shares none with others */
    uint64_t tenant; /* whose they are, as in memory_account.h; 0: not known */
} BlobSource;

enum { MISSING_BLOBS_MAX = 4096 };

/* The digests of missing blobs, each once, in the call's arena: the first MISSING_BLOBS_MAX of them. Others
 * are found missing when the partition is compiled with these. */
typedef struct MissingBlobs {
    const char **sha256;
    size_t count;
} MissingBlobs;

/* Adds a digest unless it is there already, or the list is full. */
MUST_USE Status missing_blobs_add(Call *call, Slice sha256, MissingBlobs *missing);

Partition *partition_ref(Partition *partition);
void partition_unref(Partition *partition); /* NULL is allowed */

static inline void
partition_unrefp(Partition **partition)
{
    partition_unref(*partition);
}
#define AUTO_PARTITION CLEANUP(partition_unrefp) Partition *

uint32_t partition_arg_count(const Partition *partition);
uint32_t partition_retval_count(const Partition *partition);
uint32_t partition_node_count(const Partition *partition);
Dtype partition_arg_dtype(const Partition *partition, uint32_t index);
Slice partition_retval_name(const Partition *partition, uint32_t index); /* name of the _Retval node */

/* A node by its id, below partition_node_count(); its texts live as long as the partition. */
typedef struct PartitionNode {
    Slice name;
    Slice op;
    /* The rendezvous key of a Send or Recv, in a loop without the iteration; empty for other nodes. */
    Slice key;
    /* The device that computes it; NULL for nodes that only move values, or that were folded or fused. */
    const Device *device;
    /* The reason why the host computes it though there is an accelerator; NULL: there is none, or nothing to
     * say. */
    const char *reason;
} PartitionNode;
PartitionNode partition_node(const Partition *partition, uint32_t index);

/* Frame 0 holds the nodes outside of all loops; each other frame is a loop. */
uint32_t partition_frame_count(const Partition *partition);
Slice partition_frame_name(const Partition *partition, uint32_t frame);

/* Returns whether some node is the accelerator's. */
bool partition_uses_accelerator(const Partition *partition);

/* Returns whether freeing it may free memory of the accelerator, of this tenant or (for 0) of anybody's:
 * constants of its own, or of a function's. */
bool partition_keeps_accelerator_memory(const Partition *partition, uint64_t tenant);

bool partition_has_transfers(const Partition *partition); /* true for any _Send or _Recv */

bool partition_is_used(const Partition *partition); /* it has more than one reference */

/* Returns the bytes that it keeps in memory: graph, schedule, constants. Idle runs are not counted, nor are
 * blobs, which belong to their source. */
size_t partition_size(const Partition *partition);

/* Returns the part of it that its own constants take. */
size_t partition_constant_size(const Partition *partition);

/* Returns the expected computing time of a run, summed over all threads, from measurements; an
 * overestimate before the first run. */
uint64_t partition_cost_ns(const Partition *partition);
