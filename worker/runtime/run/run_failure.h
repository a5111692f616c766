/* The failure of a run: the first failure counts, stops it, and wakes what waits.
 *
 * Threads: any. */
#pragma once

#include "worker/runtime/run/run_state.h"

/* The run fails with this unless it has failed or ended before. */
void run_fail(Run *run, Failure failure);

/* Notes the first failure and wakes nobody. False when there was one before, or the run is over. */
bool run_note_failure(Run *run, const Failure *failure);
