/* A step's trace as TensorFlow's StepStats (step_stats.proto) in protobuf's JSON form, which its own
 * timeline and profiling tools read. Times count from the step's start. The bytes of all outputs of a node
 * are told as output 0's.
 *
 * Errors: INTERNAL when a worker's trace cannot be read. */
#pragma once

#include "gateway/traces/step_trace.h"

MUST_USE Status step_stats_write(Call *call, const StepTrace *trace, Buffer *json);
