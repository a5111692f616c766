/* Which worker keeps each part of a session's state. What a plan's slot keeps is bound to one life of one
 * worker, in the database, so that all gateways agree; a binding whose worker is lost is replaced by one that
 * begins with nothing.
 *
 * Errors: UNAVAILABLE when no worker can take a place. */
#pragma once

#include "gateway/steps/step_call.h"

/* Fills step->pins if the step's plan keeps state. Without a job context (on the loop) *ret_needs_job says
 * that a place must be bound first. */
MUST_USE Status session_places_take(StepCall *step, JobContext *context, bool *ret_needs_job);
