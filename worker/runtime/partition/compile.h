/* Makes partitions that can run from a graph's definition: links it, finds a kernel for each node and the
 * bytes of its constants, folds and fuses nodes, lays the schedule out.
 *
 * Threads: any; what is compiled is the caller's alone until it is told of.
 * Errors:  name the node and say what is wrong with it. */
#pragma once

#include "worker/runtime/partition/partition.h"

/* INVALID_ARGUMENT when the graph breaks a rule; UNIMPLEMENTED when an op or its kernel does not exist;
 * FAILED_PRECONDITION when blobs are missing: all of them are in *ret_missing then; RESOURCE_EXHAUSTED.
 * `blobs` may be NULL: there are none. The call needs an arena. Keeps a reference to `def`. */
MUST_USE Status partition_compile(Call *call, GraphDef *def, Device *device, const BlobSource *blobs,
    MissingBlobs *ret_missing, Partition **ret_partition);
