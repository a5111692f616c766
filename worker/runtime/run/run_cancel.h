/* Ends runs early, and tells what a late one was waiting for.
 *
 * Threads: any. */
#pragma once

#include "shared/base/status.h"

typedef struct Run Run;

/* Ends a run with this status unless it has ended or failed already. For DEADLINE_EXCEEDED the message is
 * completed with the nodes that wait and the keys they wait for. */
void run_cancel(Run *run, Status code, const char *message);
