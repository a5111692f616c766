/* The request that a run is started with, and what the run tells whoever started it (run.h).
 *
 * Ownership: fed tensors move into the run; fetched ones may be taken by on_output(). What a RunResult shows
 * is the run's until on_done() returns. Threads:   callbacks come on any thread, on_output() on several at
 * once, also inside run_start(), run_cancel() and rendezvous_abort(); on_done() last and once. */
#pragma once

#include "shared/base/failure.h"
#include "worker/runtime/partition/partition.h"
#include "worker/runtime/resource.h"
#include "worker/runtime/run/rendezvous.h"

typedef struct RunTrace RunTrace;

typedef struct RunStats {
    uint64_t start_ns;      /* monotonic */
    uint64_t elapsed_ns;    /* from run_start() to on_done() */
    uint64_t node_count;    /* runs of nodes, dead ones too; a node in a loop counts each time */
    uint64_t planned_bytes; /* the expected peak (memory_plan.h); 0: there was no plan */
    uint64_t peak_bytes;    /* the measured one */
    bool is_plan_exact;
    const RunTrace *trace; /* trace.h; NULL: not asked for */
} RunStats;

typedef struct RunResult {
    const Failure *failure; /* STATUS_OK: none */
    RunStats stats;
} RunResult;

typedef struct RunCallbacks {
    void *context;
    /* A fetch has been computed. A dead one is of a branch that was not taken: tensor->dtype is
     * DTYPE_INVALID. May take the tensor by zeroing *tensor. */
    void (*on_output)(void *context, uint32_t index, Tensor *tensor, bool is_dead);
    void (*on_done)(void *context, const RunResult *result);
} RunCallbacks;

typedef struct RunRequest {
    Partition *partition;
    Tensor *args; /* taken when run_start() succeeds: zeroed */
    uint32_t arg_count;
    Rendezvous *rendezvous;       /* may be NULL when the partition has no transfers */
    ResourceContainer *container; /* what the session keeps here; NULL: nothing */
    uint64_t memory_limit;        /* bytes it may hold here at once, as memory_plan.h counts; 0: no limit */
    int64_t open_size;            /* of the step's feeds, by which what is received grows; 0: not known */
    uint64_t deadline_ns; /* monotonic; 0: none. Checked between nodes; the caller's timer does the rest */
    uint32_t call_depth;  /* calls of functions that it is inside of */
    bool caller_is_idle;  /* nobody else waits for the calling thread */
    bool *is_crowded; /* set when there is too little memory only because other runs hold it; may be NULL */
    bool traces_nodes;
    bool feeds_come_late; /* args may be absent (DTYPE_INVALID): they come with run_feed() */
    RunCallbacks callbacks;
} RunRequest;
