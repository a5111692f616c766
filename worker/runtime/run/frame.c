/* The life of a loop:
 *   1. The first Enter opens the frame and its iteration 0.
 *   2. A NextIteration starts iteration n + 1, or leaves its value waiting when too many are under way.
 *   3. Constants (the values of constant Enters) go into each iteration as it starts.
 *   4. Iterations are retired in order; each one that ends lets a waiting one start.
 *   5. With its last iteration the frame ends: Exits that never were live are dead, and the iteration
 *      around the loop may be done in turn.
 *
 * All of it happens under the run's frames_lock, except that values are passed on without it into
 * iterations that cannot end meanwhile: the one that a NextIteration feeds, and the one around the loop,
 * into which a live Exit leads. */
#include "worker/runtime/run/frame.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/mutex.h"
#include "worker/runtime/run/run_failure.h"

static const ScheduleNode *
node_at(const Run *run, uint32_t id)
{
    return &run->partition->nodes[id];
}

static void
frame_deliver_constant(Ticket *ticket, const Frame *frame, uint32_t index, Iteration *iteration)
{
    bool is_dead = frame->constants[index].dtype == DTYPE_INVALID;
    Tensor value;
    tensor_copy(&value, &frame->constants[index]);
    (void)tensor_buffer_ref(value.buffer);
    const ScheduleNode *enter = node_at(ticket->run, frame->schedule->constants[index]);
    ticket_propagate(ticket, iteration, enter, &value, is_dead);
}

/* Passes into a new iteration the values that waited for it, then the loop's constants that have arrived. */
static void
frame_deliver(Ticket *ticket, Frame *frame, Iteration *iteration)
{
    const ScheduleFrame *schedule = frame->schedule;
    for (uint32_t i = 0; i < schedule->next_count && frame->waiting_count > 0; i++) {
        if (frame->waiting[i].dtype != DTYPE_INVALID) {
            Tensor value;
            tensor_copy(&value, &frame->waiting[i]);
            frame->waiting[i].dtype = DTYPE_INVALID;
            frame->waiting[i].buffer = NULL;
            frame->waiting_count--;
            ticket_propagate(ticket, iteration, node_at(ticket->run, schedule->nexts[i]), &value, false);
        }
    }
    for (uint32_t i = 0; i < schedule->constant_count; i++) {
        if (frame->has_constant[i]) {
            frame_deliver_constant(ticket, frame, i, iteration);
        }
    }
}

static void
iteration_trace(const Run *run, Iteration *iteration)
{
    if (run->trace == NULL) {
        iteration->trace = NULL;
        return;
    }
    TraceScope loop = iteration_trace_scope(iteration);
    iteration->trace =
        run_trace_iteration(run->trace, &loop, iteration->frame->parent->trace, iteration->number);
}

/* Starts the frame's next iteration. False without memory. */
static bool
frame_start_iteration(Ticket *ticket, Frame *frame)
{
    Iteration *iteration = run_take_iteration(ticket->run, frame->schedule->number);
    if (iteration == NULL) {
        return false;
    }
    iteration->frame = frame;
    iteration->newer = NULL;
    iteration->number = frame->started++;
    iteration_trace(ticket->run, iteration);
    *(frame->oldest == NULL ? &frame->oldest : &frame->newest->newer) = iteration;
    frame->newest = iteration;
    frame->live_count++;
    frame_deliver(ticket, frame, iteration);
    return true;
}

static Frame *
frame_open(Ticket *ticket, Iteration *parent, uint32_t number)
{
    Run *run = ticket->run;
    Frame *frame = run_take_frame(run, number);
    if (frame == NULL) {
        return NULL;
    }
    frame->parent = parent;
    frame->started = 0;
    frame->enters_left = frame->schedule->enter_count;
    parent->children[frame->schedule->child_index] = frame;
    parent->child_count++;
    list_append(&run->live_frames, &frame->live);
    return frame_start_iteration(ticket, frame) ? frame : NULL;
}

static void
frame_end(Ticket *ticket, Frame *frame)
{
    const ScheduleFrame *schedule = frame->schedule;
    for (uint32_t i = 0; i < schedule->exit_count; i++) {
        if (!atomic_load_relaxed(&frame->has_left[i])) {
            ticket_propagate(ticket, frame->parent, node_at(ticket->run, schedule->exits[i]), NULL, true);
        }
    }
    frame->parent->children[schedule->child_index] = NULL;
    frame->parent->child_count--;
    run_put_frame(ticket->run, frame);
}

static bool
oldest_is_done(const Frame *frame)
{
    const Iteration *oldest = frame->oldest;
    return oldest != NULL && atomic_load_acquire(&oldest->outstanding) == 0 && oldest->child_count == 0 &&
           (oldest->number > 0 || frame->enters_left == 0);
}

/* Ends the oldest iterations while they are done. False without memory. */
static bool
frame_retire(Ticket *ticket, Frame *frame)
{
    while (oldest_is_done(frame)) {
        Iteration *done = frame->oldest;
        frame->oldest = done->newer;
        frame->newest = frame->oldest == NULL ? NULL : frame->newest;
        frame->live_count--;
        run_put_iteration(ticket->run, done);
        if (frame->waiting_count > 0 && !frame_start_iteration(ticket, frame)) {
            return false;
        }
    }
    return true;
}

/* Ends what is done, from the inside out: the frame's oldest iterations, the frame with its last one, then
 * the same for the frame around it. False without memory. */
static bool
frame_sweep(Ticket *ticket, Frame *frame)
{
    while (frame != NULL && !list_is_empty(&frame->live)) {
        if (!frame_retire(ticket, frame)) {
            return false;
        }
        if (frame->live_count > 0 || frame->enters_left > 0) {
            return true;
        }
        Frame *around = frame->parent->frame;
        frame_end(ticket, frame);
        frame = around;
    }
    return true;
}

static void
fail_without_memory(const Ticket *ticket)
{
    run_fail(ticket->run,
        failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "out of memory for a loop's iteration"));
}

static void
frame_take_constant(Ticket *ticket, Frame *frame, const ScheduleNode *enter, Tensor *output, bool is_dead)
{
    if (!is_dead) {
        frame->constants[enter->index] = *output;
    }
    frame->has_constant[enter->index] = true;
    for (Iteration *at = frame->oldest; at != NULL; at = at->newer) {
        frame_deliver_constant(ticket, frame, enter->index, at);
    }
}

void
frame_enter(Ticket *ticket, Activation *activation, const ScheduleNode *enter, Tensor *output, bool is_dead)
{
    assert(enter->child > FRAME_ROOT && enter->child < ticket->run->partition->frame_count);
    Run *run = ticket->run;
    Iteration *parent = activation->iteration;
    mutex_lock(&run->frames_lock);
    Frame *frame = parent->children[run->partition->frames[enter->child].child_index];
    if (frame == NULL) {
        frame = frame_open(ticket, parent, enter->child);
    }
    bool is_ok = frame != NULL && frame->oldest != NULL;
    if (!is_ok) {
        tensor_buffer_unref(output->buffer);
    } else {
        if (enter->index != SLOT_NONE) {
            frame_take_constant(ticket, frame, enter, output, is_dead);
        } else {
            ticket_propagate(ticket, frame->oldest, enter, output, is_dead);
        }
        frame->enters_left--;
        is_ok = frame_sweep(ticket, frame);
    }
    mutex_unlock(&run->frames_lock);
    if (!is_ok) {
        fail_without_memory(ticket);
    }
}

void
frame_exit(Ticket *ticket, Activation *activation, const ScheduleNode *leave, Tensor *output, bool is_dead)
{
    assert(activation->iteration->frame != NULL);
    Frame *frame = activation->iteration->frame;
    if (is_dead) {
        return; /* frame_end() passes the deadness on, unless another iteration's Exit is live */
    }
    if (atomic_exchange_relaxed(&frame->has_left[leave->index], true)) {
        tensor_unref(output);
        run_fail(ticket->run, failure_of(STATUS_INVALID_ARGUMENT, leave->node->name,
                                  "the loop is left a second time, in a later iteration"));
        return;
    }
    ticket_propagate(ticket, frame->parent, leave, output, false);
}

/* Returns whether a new iteration has to wait: parallel_iterations are under way, or the iterations of all
 * loops hold loop_bytes_max, for nested loops multiply. frame_retire() starts a waiting iteration without
 * asking, so that every loop goes on. */
static bool
is_full(const Run *run, const Frame *frame)
{
    return frame->live_count >= frame->schedule->parallel_iterations ||
           (frame->live_count > 0 && run->loop_bytes >= run->partition->loop_bytes_max);
}

void
frame_next(Ticket *ticket, Activation *activation, const ScheduleNode *next, Tensor *output, bool is_dead)
{
    assert(activation->iteration->frame != NULL);
    if (is_dead) {
        return;
    }
    Run *run = ticket->run;
    Iteration *iteration = activation->iteration;
    Frame *frame = iteration->frame;
    bool is_ok = true;
    mutex_lock(&run->frames_lock);
    bool waits = iteration->newer == NULL && is_full(run, frame);
    if (waits) {
        tensor_copy(&frame->waiting[next->index], output);
        frame->waiting_count++;
    } else if (iteration->newer == NULL) {
        is_ok = frame_start_iteration(ticket, frame);
    }
    Iteration *newer = iteration->newer;
    mutex_unlock(&run->frames_lock);
    if (!is_ok) {
        tensor_unref(output);
        fail_without_memory(ticket);
    } else if (!waits) {
        ticket_propagate(ticket, newer, next, output, false);
    }
}

void
frame_settle(Ticket *ticket, Frame *frame)
{
    assert(frame != NULL);
    mutex_lock(&ticket->run->frames_lock);
    bool is_ok = frame_sweep(ticket, frame);
    mutex_unlock(&ticket->run->frames_lock);
    if (!is_ok) {
        fail_without_memory(ticket);
    }
}
