/* Ends a synchronous step: first its record, which is on its way or, when that was promised, committed;
 * then its reply.
 *
 * Threads: the step's loop. */
#pragma once

#include "gateway/steps/step_call.h"

/* Records the end and then calls step_reply_end(): at once, when there is room for the record, or when it
 * is committed. */
void step_record_end(StepCall *step, const StepReport *report);
