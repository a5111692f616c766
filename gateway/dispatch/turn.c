/* Turns of a partial step, which holds a slot of the pool only while it computes.
 *
 * Happy path: the step begins with a turn, as any step → each slot computes what the feeds allow and says
 * that it rests → when all rest, the turn is over → a feed that comes is held, and a turn asked for → with
 * the turn, the feeds that were held go to the workers.
 *
 * A slot may be woken by a tensor of another slot after both have said that they rest; it says that it goes
 * on, and the turn that it has then is one nobody could wait for. */
#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"

static bool
all_rest(const StepRun *step)
{
    for (size_t index = 0; index < step->slot_count; index++) {
        if (!slot_rests(&step->slots[index])) {
            return false;
        }
    }
    return true;
}

void
turn_settle(StepRun *step)
{
    if (!step->is_partial || step->admitted_ns == 0 || step->is_ending || step->is_restarting) {
        return;
    }
    if (all_rest(step)) {
        step->rests = true;
        admission_rest(&step->ticket, step_computed_ns(step));
    } else if (step->rests && !step->awaits_turn) {
        step->rests = false;
        admission_resume_now(&step->ticket);
    }
}

/* Sends the feeds that were held. If no slot wants any, the turn is over at once. */
static void
send_held(StepRun *step)
{
    step->rests = false;
    for (size_t feed = 0; feed < step->feed_count; feed++) {
        if (TAKE(step->holds_feed[feed])) {
            slots_feed(step, feed);
        }
    }
    turn_settle(step);
}

void
turn_hold_feed(StepRun *step, size_t feed)
{
    assert(step->is_partial && step->rests);

    step->holds_feed[feed] = true;
    if (step->awaits_turn) {
        return;
    }
    if (admission_resume(&step->ticket) == ADMISSION_RUNS) {
        send_held(step);
    } else {
        step->awaits_turn = true;
    }
}

void
turn_granted(StepRun *step)
{
    assert(step->awaits_turn);

    step->awaits_turn = false;
    send_held(step);
}
