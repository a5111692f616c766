/* Decides whether a run may have the memory that it is planned to take, and tells what it really took.
 *
 * A run is refused before it starts when its planned peak passes its step's limit or what the device can ever
 * give, and when other runs leave too little of it (RunRequest.is_crowded: trying again may help); one that
 * takes more than its limit while it runs fails. What loops and branches take is not known well enough to
 * refuse them.
 *
 * Threads: run_admit() before the run, run_settle() behind its last node.
 * Errors:  RESOURCE_EXHAUSTED with what is planned, what there is, and the largest tensors. */
#pragma once

#include "worker/runtime/run/run_state.h"

/* `run` for this request: its plan, account and arena. Fed tensors stay the request's. */
MUST_USE Status run_admit(Call *call, Run *run, const RunRequest *request);

/* The run holds nothing of its arena and reservation any more; fills the memory part of the statistics. */
void run_settle(Run *run, RunStats *ret_stats);
