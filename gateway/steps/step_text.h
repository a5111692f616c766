/* Writes outputs as JSON into a reply's stream, in turns: each writes the text of some ten kilobytes of
 * elements, on a job thread, and there is one at a time for a reply. So a large output never holds a thread
 * for longer than about a millisecond, and no more of its text is in memory than the next piece. While a turn
 * runs, or its client has not taken what was written, the workers are paused.
 *
 * An output comes in pieces (step_text_begin, _piece, _close) or whole (step_text_add); they are written in
 * the order in which they come.
 *
 * Ownership: a part of the StepReply, which must stay until step_text_is_busy() is false.
 * Threads:   the step's loop.
 * Errors:    without memory the stream is aborted. */
#pragma once

#include "gateway/steps/step_call.h"

/* Makes room for the request's fetches. False without memory. */
MUST_USE bool step_text_open(StepCall *step);

void step_text_begin(StepCall *step, size_t index, const Tensor *described);
void step_text_piece(StepCall *step, Slice elements);
void step_text_close(StepCall *step);

/* Has step->outputs of this fetch written, and dropped then, from the next step_text_go_on() on. */
void step_text_add(StepCall *step, size_t index);

/* Sends what step->reply.text.writer has been given by others. */
void step_text_send(StepCall *step);

/* Returns whether text is still to be written. step->reply.rested is called when it is not any more. */
bool step_text_is_busy(const StepCall *step);

/* Goes on: there is more to write, or the client has taken some of the text, or has gone. */
void step_text_go_on(StepCall *step);

/* Bytes that wait in the reply's stream and above which the workers pause. */
enum { STEP_QUEUE_HIGH = 96 * 1024, STEP_WIDE_QUEUE_HIGH = 512 * 1024 };

/* Pauses the workers or lets them go on, as the client has taken what was written. */
void step_text_match_pace(StepCall *step);

/* Drops what has come of an output that will not be whole, and closes its text. */
void step_text_break(StepCall *step);
