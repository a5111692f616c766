/* A step's trace as Chrome's trace events (the JSON object format, which Perfetto opens): a process for
 * each slot, in it a thread for each thread of its worker and one or more for transfers, which may
 * overlap. trace_clock.h says how the slots' clocks are aligned.
 *
 * Errors: INTERNAL when a worker's trace cannot be read. */
#pragma once

#include "gateway/traces/step_trace.h"

MUST_USE Status trace_json_write(Call *call, const StepTrace *trace, Buffer *json);
