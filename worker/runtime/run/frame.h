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

#include "shared/base/list.h"
#include "worker/runtime/run/executor.h"

struct Frame {
    const ScheduleFrame *schedule;
    ListLink live;     /* in run->live_frames; of an idle one alone */
    Frame *next_idle;  /* of an idle one */
    Iteration *parent; /* where it was entered */
    Iteration *oldest; /* NULL between the end of the last and the start of one that waited */
    Iteration *newest;
    uint64_t started;     /* iterations */
    uint32_t live_count;  /* iterations under way */
    uint32_t enters_left; /* that have not fired */
    uint32_t waiting_count;
    Tensor *waiting;   /* by NextIteration: values for an iteration that may not start yet */
    Tensor *constants; /* by constant Enter, once it has fired … */
    bool *has_constant;
    bool *has_left; /* atomic; by Exit: it was live */
};

/* The Enter of `activation` hands its output on, or its deadness. */
void frame_enter(
    Ticket *ticket, Activation *activation, const ScheduleNode *enter, Tensor *output, bool is_dead);

void frame_exit(
    Ticket *ticket, Activation *activation, const ScheduleNode *leave, Tensor *output, bool is_dead);

/* A dead NextIteration ends here: no further iteration is started for it. */
void frame_next(
    Ticket *ticket, Activation *activation, const ScheduleNode *next, Tensor *output, bool is_dead);

/* An iteration of this frame may be done. */
void frame_settle(Ticket *ticket, Frame *frame);

/* Ends all frames of a run that has ended, with the tensors that are still in them. */
void frames_clear(Run *run);

/* Keeps this many idle iterations and frames of each loop for the next run. */
void frames_trim(Run *run, uint32_t kept);
