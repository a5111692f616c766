/* Writes when each node of a run ran, for the gateway (shared/wire/trace.h): the longest first, for a frame
 * may not hold all.
 *
 * Threads: any, while the stats are valid. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/run.h"

/* Writes nothing when the run was not traced; a Buffer that fails has no trace. */
void run_trace_write(Buffer *buffer, const Partition *partition, const RunStats *stats);
