/* A step's trace as TensorFlow's StepStats (step_stats.proto), in protobuf's JSON form: what its own timeline
 * and profiling tools read. Times count from the step's start. Of a node's outputs the bytes are told
 * together, as those of output 0.
 *
 * Errors: INTERNAL when what a worker told cannot be read. */
#pragma once

#include "gateway/traces/step_trace.h"

MUST_USE Status step_stats_write(Call *call, const StepTrace *trace, Buffer *json);
