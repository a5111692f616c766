/* A compiled partition: the nodes one slot runs, linked, with a kernel for each and its constants at hand,
 * laid out as a static schedule that any number of runs use at the same time.
 *
 * Beside ordinary nodes it holds _Arg and _Retval (feeds and fetches by index), _Send and _Recv, and
 * _BlobConst (a constant whose bytes are a blob named by their SHA-256).
 *
 * Ownership: refcounted; holds its graph, its kernels' states, its constants and the blobs under them. The
 *            device outlives it.
 * Threads:   immutable but for measured costs and the pool of idle run states, which are synchronised.
 * Errors:    none but those of compiling (compile.h). */
#pragma once

#include "shared/graph/graph.h"
#include "worker/runtime/device.h"

typedef struct Partition Partition;

/* Gives large constants: find() returns a new reference to the blob's bytes, or NULL when it is not here.
 * `sha256` is lower-case hex. */
typedef struct BlobSource {
    void *context;
    TensorBuffer *(*find)(void *context, Slice sha256);
} BlobSource;

/* The digests of blobs that were not there, each once, in the call's arena. */
typedef struct MissingBlobs {
    const char **sha256;
    size_t count;
} MissingBlobs;

/* Notes that a blob is not here, once, in the call's arena. `missing` has room for it. */
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
Slice partition_retval_name(const Partition *partition, uint32_t index); /* the _Retval node's */

/* A node by its number, 0 to partition_node_count(); its texts live as long as the partition. */
typedef struct PartitionNode {
    Slice name;
    Slice op;
    Slice key; /* of a Send or Recv, what they meet by; without the iteration in a loop. Empty for others */
} PartitionNode;
PartitionNode partition_node(const Partition *partition, uint32_t index);

/* Frame 0 is what lies in no loop, each other one a loop. */
uint32_t partition_frame_count(const Partition *partition);
Slice partition_frame_name(const Partition *partition, uint32_t frame);

bool partition_has_transfers(const Partition *partition); /* any _Send or _Recv */

/* Bytes it keeps in memory: graph, schedule, constants, blobs; without idle run states. */
size_t partition_size(const Partition *partition);

/* Returns how long a run is expected to compute, all threads together, as measured so far; high before the
 * first run. */
uint64_t partition_cost_ns(const Partition *partition);
