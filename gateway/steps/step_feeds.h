/* Feeds of a step as tensors: read from JSON by the dtypes that the graph fixes, taken from a form's
 * parts, or fetched from the blobs that they refer to. */
#pragma once

#include "gateway/steps/step_call.h"

/* Fills step->given in the order of the request's feeds; feeds that it has already stay. Without a job
 * context *ret_needs_job says that a reference needs one. OUT_OF_RANGE when all of them are above
 * step_body_bytes. */
MUST_USE Status step_feeds_take(StepCall *step, JobContext *context, bool *ret_needs_job);

/* Fills step->given of a rehearsal or a partial run with tensors that have a dtype, the request's or else
 * the graph's, and no elements. */
MUST_USE Status step_feeds_describe(StepCall *step);

void step_feeds_release(StepCall *step);
