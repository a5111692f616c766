/* Runs loops. A Frame is one instance of a loop, which Enters open in one iteration of the frame around it
 * (TensorFlow's FrameState), with a window of at most parallel_iterations iterations under way.
 *
 * An iteration is done when it is the oldest, none of its nodes is ready, running or waiting, no frame
 * inside it is open, and, for the first, all Enters have fired. The frame ends with its last iteration;
 * Exits that never were live are dead then.
 *
 * Threads: functions that take a Ticket take the run's frames_lock themselves and are called without it. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Passes an Enter's output into its loop, and opens the loop if it is the first: into every iteration for
 * a constant Enter, into iteration 0 for another. A dead one passes its deadness. */
void frame_enter(
    Ticket *ticket, Activation *activation, const ScheduleNode *enter, Tensor *output, bool is_dead);

/* Passes a live Exit's output into the iteration around the loop. The run fails with INVALID_ARGUMENT when
 * the Exit was live in another iteration already. A dead output goes no further: the frame passes
 * the deadness on when it ends. */
void frame_exit(
    Ticket *ticket, Activation *activation, const ScheduleNode *leave, Tensor *output, bool is_dead);

/* Passes a NextIteration's output into the next iteration, which it starts, or keeps it until that one may
 * start. A dead output ends here and starts no iteration. */
void frame_next(
    Ticket *ticket, Activation *activation, const ScheduleNode *next, Tensor *output, bool is_dead);

/* Ends the iterations of the frame that are done, the frame with its last one, and frames around it in
 * turn. */
void frame_settle(Ticket *ticket, Frame *frame);
