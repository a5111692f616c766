/* Writes the trace of a run for the gateway (shared/wire/trace.h): when each node ran. The longest come
 * first, because one frame may not hold all of them.
 *
 * Threads: any, while the stats are valid. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/run/run.h"

/* Appends the trace. Writes nothing when the run was not traced, or without memory. */
void run_trace_write(Buffer *buffer, const Partition *partition, const RunStats *stats);
