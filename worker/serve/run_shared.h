/* Finds what a run shares with other runs: the rendezvous of its step, and the container of its session.
 *
 * Ownership: the caller gets references.
 * Threads:   the stream's loop.
 * Errors:    ABORTED when this slot of the attempt has been run already; those of the two tables. */
#pragma once

#include "worker/serve/method.h"
#include "worker/serve/state_table.h"
#include "worker/serve/step_table.h"

/* Finds the container of the session; leaves *ret_state alone when the session keeps nothing here. */
MUST_USE Status run_find_state(WorkerRequest *request, const WireRun *header, ResourceContainer **ret_state);

/* Joins the step; leaves *ret_entry alone when no other slot takes part. The caller must release
 * *ret_entry after a failure too. */
MUST_USE Status run_enter_step(WorkerRequest *request, const WireRun *header, StepEntry **ret_entry);
