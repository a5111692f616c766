/* The record of a synchronous step that has ended, and then its reply: the record is on its way by then, or,
 * when that was promised, committed.
 *
 * Threads: the step's loop. */
#pragma once

#include "gateway/steps/step_call.h"

/* step_reply_end() follows: at once, when there is room for the record, or when it is committed. */
void step_record_end(StepCall *step, const StepReport *report);
