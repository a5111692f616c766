/* What the report of a step says that did not end before its deadline: of each slot, who waits there for
 * what, and what is still computing. Every worker says so at the deadline, within a moment
 * (DEADLINE_GRACE_MS); whoever says nothing by then is named too. */
#include <inttypes.h>

#include "gateway/dispatch/step_internal.h"
#include "shared/base/clock.h"

static const char summary[] = "the step did not end before its deadline";

/* What is said for those who say nothing. */
static const char *const silences[] = {
    [SLOT_IDLE] = "not asked yet",
    [SLOT_REGISTERING] = "its partition is being registered",
    [SLOT_RUNNING] = "no word from the worker",
    [SLOT_DONE] = "",
};

/* Without what every worker says first: "the deadline has passed; waiting: …". */
static Slice
without_preamble(Slice message)
{
    const size_t at = slice_find(message, ';');
    return at < message.size && slice_starts_with(slice_part(message, 0, at), SLICE("the "))
               ? slice_part(message, at + 2, message.size)
               : message;
}

bool
step_slot_late(SlotRun *slot, Slice message)
{
    StepRun *const step = slot->step;
    if (step->slot_count == 1 || step->is_ending || step->is_restarting ||
        clock_monotonic_ns() < step->deadline_ns) {
        return false;
    }
    buffer_clear(&slot->last_words);
    buffer_append_slice(&slot->last_words, without_preamble(message));
    slot->has_aborted = true;
    step->is_late = true;
    return true;
}

void
step_end_late(StepRun *step)
{
    AUTO_BUFFER message = {0};
    buffer_append_string(&message, summary);
    for (size_t index = 0; index < step->slot_count; index++) {
        SlotRun *const slot = &step->slots[index];
        if (slot->worker < 0 || step->workers == NULL) {
            continue;
        }
        if (slot->last_words.size == 0) {
            buffer_append_string(&slot->last_words, silences[slot->state]);
        }
        if (slot->last_words.size > 0) {
            buffer_append_format(&message, "; slot %zu on worker '%s': %s", index, slot_worker(slot)->name,
                buffer_string(&slot->last_words));
        }
    }
    const char *const whole = buffer_string(&message);
    step_end(step, STATUS_DEADLINE_EXCEEDED, whole == NULL ? summary : whole);
}
