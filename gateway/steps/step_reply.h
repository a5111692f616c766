/* The reply to a step, in the form that its client accepts:
 *
 *     application/json              the step with its outputs, when it has ended
 *     application/x-npy             the one tensor that was fetched, when the step has ended
 *     multipart/mixed               a part for each output as it comes, the step as JSON in the last one
 *     application/vnd.sluice.frames a TENSOR frame for each output as it comes, a STATUS frame behind them
 *
 * The streamed forms send their head with the first output; an error after that travels in the last part
 * or frame, and the reply ends without its last chunk. Tensors are sent from their own buffers. When the
 * client reads slowly, the workers are paused; when it hangs up, the step is cancelled.
 *
 * Ownership: a part of its StepCall, whose exchange is kept until step_reply_end().
 * Threads:   the loop thread. */
#pragma once

#include "gateway/steps/step_call.h"

/* Chooses the form by Accept, once the step has its plan: 406 when none will do. */
MUST_USE Status step_reply_choose(StepCall *step);

/* Keeps an output or sends it; a StepEvents.on_output. */
void step_reply_output(StepCall *step, uint32_t fetch, const Tensor *tensor);

/* Ends the reply and its exchange; step->running.run is NULL by then. */
void step_reply_end(StepCall *step, const StepReport *report);
