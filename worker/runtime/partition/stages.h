/* The stages of compiling a partition that have files of their own, in the order in which partition_compile()
 * calls them, before any other thread sees the partition.
 *
 * Errors: those of partition_compile(). */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* Computes nodes whose inputs are all constants (fold.c). All constants must have their values, and the
 * schedule must not be built yet. RESOURCE_EXHAUSTED. */
MUST_USE Status fold_constants(Call *call, Partition *partition);

/* Does the same with the nodes from this id on, which another stage has added. */
MUST_USE Status fold_added(Call *call, Partition *partition, uint32_t first);

/* Returns the constant whose value an input has whenever its node runs; NULL when runs may differ. A constant
 * of a branch or of a loop comes through a Switch or an Enter, or waits for one: it is dead or has its value
 * (fold.c). */
const ScheduleNode *known_constant(const Partition *partition, Endpoint input);

/* Makes each read of a variable by reference a node of its own, if the worker has an accelerator
 * (references.c). RESOURCE_EXHAUSTED. */
MUST_USE Status read_references(Call *call, Partition *partition);

/* Turns regions around that the accelerator computes faster with the channels of images last, and puts
 * transposes where they begin and end (layout.c). Nodes have no devices yet. RESOURCE_EXHAUSTED. */
MUST_USE Status turn_channels_last(Call *call, Partition *partition);

/* Lets the partitions of a tenant share what fold_added() made of the weights that it transposes; `first` is
 * the first node that it added. RESOURCE_EXHAUSTED. */
MUST_USE Status name_turned(Call *call, const Partition *partition, uint32_t first);

/* Chooses the device of each node (assign.c): gives those of the accelerator its kernels, and says why others
 * stay on the host. Does nothing without an accelerator; when no node is the accelerator's, the partition has
 * none from then on. INVALID_ARGUMENT when the graph asks for a device that cannot compute the node and must
 * not be replaced; RESOURCE_EXHAUSTED. */
MUST_USE Status assign_devices(Call *call, Partition *partition);

/* Inserts a _Copy node wherever a value lies in one memory and is read in another, and uploads constants
 * that the accelerator reads (copies.c). RESOURCE_EXHAUSTED. */
MUST_USE Status insert_copies(Call *call, Partition *partition);

/* Return in which memory an output of a node lies, and in which one a node reads an input: MEMORY_ANY when
 * it does not read the elements. Devices must have been assigned. */
#define MEMORY_ANY UINT16_MAX
uint16_t output_memory(const Partition *partition, Endpoint from);
uint16_t input_memory(const ScheduleNode *node, uint32_t input);

/* Makes the arrays of nodes longer, for a stage that adds some: `count` in all, of which those behind the
 * partition's are not filled in yet (partition.c). RESOURCE_EXHAUSTED. */
MUST_USE Status lengthen_nodes(Call *call, Partition *partition, size_t count);

/* Fuses neighbouring element-wise nodes into one node (fuse.c). RESOURCE_EXHAUSTED. */
MUST_USE Status fuse_elementwise(Call *call, Partition *partition);

/* Fills in frames, cells, slots, edges and costs as schedule.h describes them, of a partition whose nodes
 * have their kinds, kernels and values already (schedule_build.c). INVALID_ARGUMENT when nodes contradict
 * each other about their loops, or when a feed or fetch is inside a loop; RESOURCE_EXHAUSTED when the
 * partition's arena is full. */
MUST_USE Status schedule_build(Call *call, Partition *partition);

/* Finds the parts that may be captured, of nodes that have frames (parts.c). RESOURCE_EXHAUSTED. */
MUST_USE Status find_parts(Call *call, Partition *partition);

/* Fills in what parts read and give out, of nodes that have their edges. RESOURCE_EXHAUSTED. */
MUST_USE Status connect_parts(Call *call, Partition *partition);

/* Marks the last edge of each port, walking a row backwards. `seen`, by port, holds the stamp of the last row
 * that used it, so that it need not be cleared: each row has another stamp, and none is 0. */
static inline void
mark_last_edges(ScheduleEdge *row, uint32_t count, uint32_t stamp, uint32_t *seen)
{
    for (uint32_t i = count; i-- > 0;) {
        if (row[i].slot != SLOT_NONE) {
            row[i].is_last = seen[row[i].port] != stamp;
            seen[row[i].port] = stamp;
        }
    }
}
