/* Compiles a graph's definition into a partition that can run: links it, finds a kernel for each node and
 * the bytes of its constants, folds and fuses nodes, builds the schedule.
 *
 * Threads: any; a new partition is the caller's alone until the caller shares it.
 * Errors:  messages name the node that is wrong. */
#pragma once

#include "worker/runtime/partition/partition.h"

/* Compiles `def` for the devices, of which the accelerator is used where assign.c says. Keeps a
 * reference to `def`. INVALID_ARGUMENT when the graph breaks a rule; UNIMPLEMENTED
 * when an op or its kernel does not exist; FAILED_PRECONDITION when blobs are missing, and *ret_missing
 * then names all of them; RESOURCE_EXHAUSTED. `blobs` NULL: no blob is here. The call needs an arena. */
MUST_USE Status partition_compile(Call *call, GraphDef *def, DeviceSet devices, const BlobSource *blobs,
    MissingBlobs *ret_missing, Partition **ret_partition);
