/* Runs of compiled partitions. A run starts with its fed tensors, hands out fetched ones as they are produced
 * and ends exactly once with on_done().
 *
 * A run whose measured cost is tiny completes inside run_start() on the calling thread, and a small one when
 * that thread has nothing else to do; others go to the device's threads. The first error ends a run: it
 * aborts the run's rendezvous, skips what has not begun, and gives all buffers back before on_done().
 *
 * Ownership: refcounted; the caller of run_start() gets one reference and may cancel until it gives it back.
 *            Fed tensors move into the run; fetched ones may be taken by on_output().
 * Threads:   callbacks come on any thread, on_output() on several at once, also inside run_start(),
 *            run_cancel() and rendezvous_abort(); on_done() last and once.
 * Errors:    run_start() fails before anything began and calls nothing; later ones come with on_done(). */
#pragma once

#include "worker/runtime/partition/partition.h"
#include "worker/runtime/resource.h"
#include "worker/runtime/run/rendezvous.h"

typedef struct Run Run;

typedef struct RunTrace RunTrace;

typedef struct RunStats {
    uint64_t start_ns;      /* monotonic */
    uint64_t elapsed_ns;    /* from run_start() to on_done() */
    uint64_t node_count;    /* runs of nodes, dead ones too; one in a loop counts each time */
    uint64_t planned_bytes; /* the peak that was expected (memory_plan.h); 0: there was no plan */
    uint64_t peak_bytes;    /* … and the one that was */
    bool is_plan_exact;
    const RunTrace *trace; /* trace.h; NULL: not asked for. Until on_done() returns */
} RunStats;

typedef struct RunResult {
    Status code;
    const char *message; /* "" when OK */
    Slice node;          /* that failed; empty when none did */
    RunStats stats;
} RunResult;

typedef struct RunCallbacks {
    void *context;
    /* A fetch is there. Dead: a branch that was not taken; tensor->dtype is DTYPE_INVALID. May take the
     * tensor by zeroing *tensor. */
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
    uint64_t
        deadline_ns;     /* monotonic; 0 for none. Checked between nodes; the caller's timer does the rest. */
    uint32_t call_depth; /* how many calls it is inside of; 0: none */
    bool caller_is_idle; /* nobody else waits for the calling thread */
    bool *is_crowded; /* set when other runs hold the memory for now that this one could have; may be NULL */
    bool traces_nodes;
    bool feeds_come_late; /* args may be absent (DTYPE_INVALID): they come with run_feed() */
    RunCallbacks callbacks;
} RunRequest;

/* INVALID_ARGUMENT when number or dtypes of the args are wrong; RESOURCE_EXHAUSTED without memory, or when
 * the run is planned to take more than it may. ret_run may be NULL when nobody will cancel. */
MUST_USE Status run_start(Call *call, const RunRequest *request, Run **ret_run);

/* Brings an arg that run_start() was not given: what needs it goes on. The tensor moves into the run; of one
 * that has failed or ended, away. INVALID_ARGUMENT when there is no such arg, when it has come already, or
 * for another type: the tensor is the caller's still. Any thread; the caller holds a reference. */
MUST_USE Status run_feed(Call *call, Run *run, uint32_t index, Tensor *tensor);

/* Ends a run early with this status unless it has ended or failed already. For DEADLINE_EXCEEDED the message
 * is completed with the nodes that wait and the keys they wait for. */
void run_cancel(Run *run, Status code, const char *message);

/* Why a run that has not ended yet will fail: its message and its node, which may be empty. OK: it has not
 * failed so far. */
Status run_failure(Run *run, char *ret_message, size_t size, Slice *ret_node);

Run *run_ref(Run *run);
void run_unref(Run *run); /* NULL is allowed */
