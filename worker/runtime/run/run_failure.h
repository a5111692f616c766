/* Fails runs: the first failure counts, stops the run, and ends its waits.
 *
 * Threads: any. */
#pragma once

#include "worker/runtime/run/run_state.h"

/* Fails the run, unless it has failed or ended before. */
void run_fail(Run *run, Failure failure);

/* Notes the failure without ending any waits. False, with nothing noted, when the run has failed or ended
 * before. */
bool run_note_failure(Run *run, const Failure *failure);
