/* Runs of compiled partitions. A run starts with its fed tensors, hands out fetched ones as they are made,
 * and ends exactly once, with on_done().
 *
 * A run whose measured cost is tiny runs inside run_start() on the calling thread, and a small one does
 * when that thread has nothing else to do; others start on the device's threads. The first failure ends a
 * run: it aborts the run's rendezvous, drops nodes that have not begun, and releases all tensors before
 * on_done().
 *
 * This folder is built in layers, each of which includes only those before it: trace, rendezvous and
 * run_request (a run's outside) → iteration (memory of loops) → run_state (memory of a run) → run_failure,
 * run_admission → ticket (passing outputs on) → frame (loops) → node_tensors, promise, args, nodes (what one
 * node does) → run_cancel → executor (the loop over ready nodes) → run.
 *
 * Ownership: refcounted; the caller of run_start() gets one reference, and may cancel and feed the run
 *            until it gives that back.
 * Threads:   any.
 * Errors:    run_start() fails before anything has begun, and calls nothing then; on_done() tells later
 *            ones. */
#pragma once

#include "worker/runtime/run/run_cancel.h"
#include "worker/runtime/run/run_request.h"

/* Starts a run. INVALID_ARGUMENT when the number or dtypes of the args are wrong, or a rendezvous is
 * missing; RESOURCE_EXHAUSTED without memory, or when the run is planned to take more than it may. ret_run
 * may be NULL when nobody will cancel or feed the run. */
MUST_USE Status run_start(Call *call, const RunRequest *request, Run **ret_run);

/* Brings an arg that run_start() was not given; nodes that wait for it go on. The tensor moves into the
 * run, or is released when the run has failed or ended. INVALID_ARGUMENT, with the tensor still the
 * caller's, when there is no such arg, it has come already, or the dtype is wrong. The caller holds a
 * reference to the run. */
MUST_USE Status run_feed(Call *call, Run *run, uint32_t index, Tensor *tensor);

/* Returns the failure that the run ends with, or will end with; code STATUS_OK: it has not failed so far. */
Failure run_failure(Run *run);

/* Returns whether a run whose feeds come late does nothing now but wait, for feeds or for other slots. A
 * kernel that has begun and waits for something else counts as work. */
bool run_rests(const Run *run);

/* Returns the device time that the run has taken in tickets that have ended. */
uint64_t run_computed_ns(const Run *run);

Run *run_ref(Run *run);
void run_unref(Run *run); /* NULL is allowed */
