/* Ends runs early, and tells what a late one was waiting for.
 *
 * Threads: any. */
#pragma once

#include "shared/base/status.h"

typedef struct Run Run;

/* Ends a run with this status, unless it has ended or failed already. For DEADLINE_EXCEEDED the message
 * goes on with what the run waits for (feeds, keys, kernels) and the loops and kernels that are running. */
void run_cancel(Run *run, Status code, const char *message);
