/* Graphs run as a gateway and one worker run them, in this process: planned for one slot, the partition
 * read back and executed on a CPU device; with SLUICE_TEST_DEVICE in the environment, on a device beside it,
 * which gets all nodes that it can compute: that of the plugin of this path, if it ends with ".so" (in
 * programs that tools/mk/plugin.mk names), else a test device (test_device.h). Runs between begin and end are
 * steps of one session. Control flow runs here, unlike in reference_run().
 *
 * Ownership: the caller releases outputs with tensor_unref(), before planned_run_end().
 * Errors:    those of planning, compiling and kernels; INTERNAL for a fetch that is dead. */
#pragma once

#include "gateway/plan/plan.h"
#include "tests/support/absent_weights.h"
#include "tests/support/reference_run.h"
#include "worker/runtime/partition/partition.h"
#include "worker/runtime/plugin.h"

typedef struct PlannedRun {
    Device *device;
    Device *accelerator; /* NULL: there is none */
    PluginDevice opened; /* the accelerator, if it is a plugin's */
    ResourceContainer *session;
    uint64_t passes_off;          /* passes that are off, a PassSet */
    const AbsentWeights *weights; /* where absent constants lie; NULL: none is absent */
    uint64_t *node_count;         /* set to the number of nodes that the last run ran; may be NULL */
    /* Called with each partition before it runs; NULL: nobody looks at it. */
    void (*examine)(void *context, const Partition *partition);
    void *examiner; /* its context */
} PlannedRun;

void planned_run_begin(PlannedRun *run);
void planned_run_end(PlannedRun *run);

/* Reads a partition of a plan back and compiles it. */
MUST_USE Status planned_partition(
    Call *call, const PlanPartition *planned, DeviceSet devices, Partition **ret_partition);
/* Does the same for a plan of a graph whose constants are absent. */
MUST_USE Status planned_partition_of(Call *call, const PlanPartition *planned, const AbsentWeights *weights,
    DeviceSet devices, Partition **ret_partition);

/* Runs all that the fetches need. ret_tensors has fetch_count entries. */
MUST_USE Status planned_run(Call *call, const PlannedRun *run, const Graph *graph, const ReferenceFeed *feeds,
    size_t feed_count, const Endpoint *fetches, size_t fetch_count, Tensor *ret_tensors);
