/* A step's trace as Chrome's trace events (the JSON object format, which Perfetto opens): a process for each
 * slot, in it a thread for each thread of its worker and one or more for transfers, which wait beside each
 * other.
 *
 * Workers have clocks of their own, of which nothing is known but that a run began after it was asked for and
 * ended before its answer was there, and that no Recv ended before its Send began. Each slot is placed as
 * early as that allows.
 *
 * Errors: INTERNAL when what a worker told cannot be read. */
#pragma once

#include "gateway/traces/step_trace.h"

MUST_USE Status trace_json_write(Call *call, const StepTrace *trace, Buffer *json);
