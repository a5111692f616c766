/* Finds what a run shares with others: its step's rendezvous, and what its session keeps here.
 *
 * Ownership: the caller gets references.
 * Threads:   the stream's loop.
 * Errors:    ABORTED when this slot of the attempt has been run already; those of the two tables. */
#pragma once

#include "worker/serve/method.h"
#include "worker/serve/state_table.h"
#include "worker/serve/step_table.h"

/* Finds the session's container; NULL when the session keeps nothing here. */
MUST_USE Status run_find_state(WorkerRequest *request, const WireRun *header, ResourceContainer **ret_state);

/* Joins the other slots of the step; NULL when there are none. To be given back also after a failure. */
MUST_USE Status run_enter_step(WorkerRequest *request, const WireRun *header, StepEntry **ret_entry);
