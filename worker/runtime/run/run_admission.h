/* Decides whether a run may have the memory that it is planned to take, and tells afterwards what it took.
 *
 * A run is refused before it starts when its planned peak passes its step's limit or all that the device
 * has, or when other runs leave too little (RunRequest.is_crowded: trying again may help). A run that
 * passes its limit while it runs fails. With loops or branches, a plan is too rough to refuse a run by it.
 *
 * Threads: run_admit() before the run starts, run_settle() after its last node.
 * Errors:  RESOURCE_EXHAUSTED with the planned bytes, the bytes there are, and the largest tensors. */
#pragma once

#include "worker/runtime/run/run_state.h"

/* Prepares the run's plan, account and arena for this request, or refuses it. Fed tensors stay the
 * request's. */
MUST_USE Status run_admit(Call *call, Run *run, const RunRequest *request);

/* Gives the run's arena and reservation back, lets the plan learn from a run that succeeded, and fills in
 * the memory part of the statistics. */
void run_settle(Run *run, RunStats *ret_stats);
