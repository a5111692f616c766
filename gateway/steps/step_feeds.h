/* The feeds of a step as tensors: read from JSON by the dtypes that the graph fixes, taken from a form's
 * parts, or fetched from the blobs they refer to. */
#pragma once

#include "gateway/steps/step_call.h"

/* Fills step->given, in the order of the request's feeds; what is there already stays. Without a job context
 * *ret_needs_job says that a reference needs one. OUT_OF_RANGE when all of them are above step_body_bytes. */
MUST_USE Status step_feeds_take(StepCall *step, JobContext *context, bool *ret_needs_job);

/* Of a rehearsal or a partial run: tensors without elements, of the dtypes that the request's feeds say, or
 * else the graph. */
MUST_USE Status step_feeds_describe(StepCall *step);

void step_feeds_release(StepCall *step);
