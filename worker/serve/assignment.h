/* The part of RegisterGraph's answer about devices: the device of each node, why nodes stayed on the host,
 * and the copies between memories.
 *
 * Threads: any. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/partition/partition.h"

/* Appends the answer's JSON: "{}" when the partition has nothing on an accelerator to tell of. The call's
 * arena takes 32 bytes a node for the moment. */
MUST_USE Status assignment_write(Call *call, Buffer *buffer, const Partition *partition);
