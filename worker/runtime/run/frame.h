/* A loop while it runs: the instance of a frame that Enters open in one iteration of the frame around it, and
 * the window of its iterations that are under way, at most parallel_iterations of them (TensorFlow's
 * FrameState).
 *
 * An iteration is done when none of its nodes is ready or running, no frame inside it is open, it is the
 * oldest, and, for the first, all Enters have fired. The frame ends with its last iteration: Exits that never
 * were live are dead then.
 *
 * Threads: functions that take a Ticket take the run's frames_lock themselves and are called without it. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* The Enter of `activation` hands its output on, or its deadness. */
void frame_enter(
    Ticket *ticket, Activation *activation, const ScheduleNode *enter, Tensor *output, bool is_dead);

void frame_exit(
    Ticket *ticket, Activation *activation, const ScheduleNode *leave, Tensor *output, bool is_dead);

/* Passes a NextIteration's output on into the next iteration, which it starts if need be. A dead one ends
 * here: no further iteration is started for it. */
void frame_next(
    Ticket *ticket, Activation *activation, const ScheduleNode *next, Tensor *output, bool is_dead);

/* Ends iterations of the frame that are done, and the frame with its last one. */
void frame_settle(Ticket *ticket, Frame *frame);
