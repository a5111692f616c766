/* The request that a run is started with, and what the run tells whoever started it (run.h).
 *
 * Ownership: fed tensors move into the run; fetched ones may be taken by on_output(). What a RunResult
 *            points to is the run's, and valid until on_done() returns.
 * Threads:   callbacks come on any thread, also inside run_start(), run_cancel() and rendezvous_abort();
 *            on_output() and on_rest() on several at once, on_done() last and once. */
#pragma once

#include "shared/base/failure.h"
#include "worker/runtime/partition/partition.h"
#include "worker/runtime/resource.h"
#include "worker/runtime/run/rendezvous.h"

typedef struct RunTrace RunTrace;

typedef struct RunStats {
    uint64_t start_ns;      /* monotonic clock */
    uint64_t elapsed_ns;    /* time between run_start() and on_done() */
    uint64_t computed_ns;   /* device time of all threads together, runs of called functions included */
    uint64_t node_count;    /* nodes that ran, dead ones included; a node in a loop counts each time */
    uint64_t planned_bytes; /* the planned peak (memory_plan.h); 0: there was no plan */
    uint64_t peak_bytes;    /* the measured peak, feeds included */
    bool is_plan_exact;
    const RunTrace *trace; /* NULL: RunRequest.traces_nodes was not set */
} RunStats;

typedef struct RunResult {
    const Failure *failure; /* code STATUS_OK: the run succeeded */
    RunStats stats;
} RunResult;

typedef struct RunCallbacks {
    void *context;
    /* Hands out a fetch. A dead one lies on a branch that was not taken: tensor->dtype is DTYPE_INVALID.
     * The callback may take the tensor by zeroing *tensor. */
    void (*on_output)(void *context, uint32_t index, Tensor *tensor, bool is_dead);
    /* Tells that a run whose feeds come late has begun or ceased to rest (run_rests()), except that it goes
     * on with a feed. It comes before on_done(); may be NULL. */
    void (*on_rest)(void *context);
    void (*on_done)(void *context, const RunResult *result);
    /* Takes the trace of a traced run that has ended, before on_done(), which is not given one then. NULL:
     * the trace ends with the run. */
    void (*on_trace)(void *context, RunTrace *trace);
} RunCallbacks;

typedef struct RunRequest {
    Partition *partition;
    Tensor *args; /* moved into the run, and zeroed, when run_start() succeeds */
    uint32_t arg_count;
    Rendezvous *rendezvous;       /* may be NULL when the partition has no transfers */
    ResourceContainer *container; /* the session's resources on this worker (resource.h); NULL: no session */
    /* Bytes that the run may hold at once, counted as in memory_plan.h; 0: no limit. */
    uint64_t memory_limit;
    uint64_t tenant; /* whose memory the run uses, as in memory_account.h; 0: not known */
    /* The size of the feeds' open dimension, by which received tensors grow; 0: not known. */
    int64_t open_size;
    /* Monotonic, in ns; 0: none. Checked between nodes; the caller cancels a run that waits past it. */
    uint64_t deadline_ns;
    uint32_t call_depth; /* depth of the function calls that the run is inside of */
    DeviceLane *lane;    /* of the calling run, which outlives this one; NULL: the run opens one if need be */
    bool caller_is_idle; /* nobody else waits for the calling thread: a small run may run on it */
    bool *is_crowded;    /* set when memory is short only because other runs hold it; may be NULL */
    bool traces_nodes;
    bool feeds_come_late; /* args may be absent (DTYPE_INVALID) and come with run_feed() */
    RunCallbacks callbacks;
} RunRequest;
