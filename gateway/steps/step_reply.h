/* The reply to a step, in the form that its client accepts:
 *
 *     application/json              the step with its outputs, when it has run
 *     application/x-npy             the one tensor that was fetched, when the step has run
 *     multipart/mixed               a part for each output as it comes, the step as JSON in the last one
 *     application/vnd.sluice.frames a TENSOR frame for each output as it comes, a STATUS frame behind them
 *
 * The latter two send their head with the first output, multipart/mixed a millisecond later while its outputs
 * are small: a step that ends meanwhile is answered in one piece, with its length. An error after that
 * travels in the last part or frame, and the reply ends without its last chunk. The former two send it when
 * all slots have run to their end, so that only the loss of a worker can come behind it. In every form a
 * large output goes on as it comes from its worker, piece by piece. When the client reads slowly, the workers
 * are paused; when it hangs up, the step is cancelled.
 *
 * Ownership: a part of its StepCall, whose exchange is kept until step_reply_end().
 * Threads:   the loop thread. */
#pragma once

#include "gateway/steps/step_call.h"

/* Keeps an output or sends it; a StepEvents.on_output. */
void step_reply_output(StepCall *step, uint32_t fetch, const Tensor *tensor);

/* Says how a large output is to come, and takes memory for it; a StepEvents.on_head. */
OutputWay step_reply_head(StepCall *step, const OutputHead *head);

/* Takes memory for an output that has to be whole, also of a step without a client; it is given back with the
 * call. Otherwise the output waits, or the step ends. */
OutputWay step_reply_take_whole(StepCall *step, const OutputHead *head);

/* Returns the bytes that it takes: strings get a table of their own, and what a partial run holds becomes the
 * text of a stream. */
size_t step_reply_whole_size(const StepCall *step, const OutputHead *head);

/* Keeps an output in step->outputs for later. False when there is no memory: the step ends. */
bool step_reply_keep(StepCall *step, uint32_t fetch, const Tensor *tensor);

/* Sends a piece; a StepEvents.on_piece. */
void step_reply_piece(StepCall *step, uint32_t fetch, Slice bytes, bool is_last);

/* Returns whether the step's end must wait, for reply.rested to be called. */
bool step_reply_is_busy(const StepCall *step);

/* Ends the reply and its exchange; step->running.run is NULL by then. */
void step_reply_end(StepCall *step, const StepReport *report);
