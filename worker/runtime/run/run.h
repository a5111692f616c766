/* Runs of compiled partitions. A run starts with its fed tensors, hands out fetched ones as they are produced
 * and ends exactly once with on_done().
 *
 * A run whose measured cost is tiny completes inside run_start() on the calling thread, and a small one when
 * that thread has nothing else to do; others go to the device's threads. The first error ends a run: it
 * aborts the run's rendezvous, skips what has not begun, and gives all buffers back before on_done().
 *
 * The layers of this folder, each of which includes those before it alone: trace, rendezvous and run_request
 * (what comes and goes) → iteration (blocks of memory) → run_state (one run) → run_failure, run_admission →
 * ticket (passing on) → frame (loops) → node_tensors, control_flow, transfers, promise, args, nodes (what a
 * node does) → run_cancel → executor (the loop over ready nodes) → run.
 *
 * Ownership: refcounted; the caller of run_start() gets one reference and may cancel until it gives it back.
 * Threads:   any.
 * Errors:    run_start() fails before anything began and calls nothing; later ones come with on_done(). */
#pragma once

#include "worker/runtime/run/run_cancel.h"
#include "worker/runtime/run/run_request.h"

/* INVALID_ARGUMENT when number or dtypes of the args are wrong; RESOURCE_EXHAUSTED without memory, or when
 * the run is planned to take more than it may. ret_run may be NULL when nobody will cancel. */
MUST_USE Status run_start(Call *call, const RunRequest *request, Run **ret_run);

/* Brings an arg that run_start() was not given: nodes that need it go on. The tensor moves into the run, or
 * is released when the run has failed or ended. INVALID_ARGUMENT when there is no such arg, when it has come
 * already, or for another type: the tensor is the caller's still. Any thread; the caller holds a reference.
 */
MUST_USE Status run_feed(Call *call, Run *run, uint32_t index, Tensor *tensor);

/* Returns why a run that has not ended yet will fail; STATUS_OK: it has not failed so far. */
Failure run_failure(Run *run);

Run *run_ref(Run *run);
void run_unref(Run *run); /* NULL is allowed */
