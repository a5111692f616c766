/* Slots that keep something of the session: they run where it is, or not at all. */
#include <stdio.h>
#include <string.h>

#include "gateway/dispatch/step_internal.h"

const StepPin *
slot_pin(const SlotRun *slot)
{
    const StepPin *const pins = slot->step->pins;
    return pins != NULL && pins[slot->partition->slot].epoch > 0 ? &pins[slot->partition->slot] : NULL;
}

Status
pin_bind(Call *call, SlotRun *slot, const StepPin *pin)
{
    const Roster *const workers = slot->step->workers;
    for (size_t index = 0; index < workers->count; index++) {
        const WorkerInfo *const info = &workers->workers[index];
        if (info->state != WORKER_LOST && strcmp(info->name, pin->worker) == 0 &&
            strcmp(info->incarnation, pin->incarnation) == 0) {
            slot->worker = (int)index;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_UNAVAILABLE,
        "worker '%s', which keeps variables of this session, cannot be reached", pin->worker);
}

Status
pin_explain(const SlotRun *slot, Status status, const char *message, char *ret_text)
{
    const StepPin *const pin = slot_pin(slot);
    if (pin != NULL && slot->has_restarted) {
        (void)snprintf(ret_text, ERROR_MESSAGE_SIZE,
            "the variables that worker '%s' kept for this session were lost with it: initialise them again",
            pin->worker);
        return STATUS_FAILED_PRECONDITION;
    }
    if (pin != NULL && status == STATUS_UNAVAILABLE) {
        (void)snprintf(ret_text, ERROR_MESSAGE_SIZE, "%.300s; worker '%s' keeps variables of this session",
            message, pin->worker);
    } else if (pin != NULL && status == STATUS_FAILED_PRECONDITION && pin->lost_worker[0] != '\0') {
        (void)snprintf(ret_text, ERROR_MESSAGE_SIZE,
            "%.300s; the session's variables were lost with worker '%s': initialise them again", message,
            pin->lost_worker);
    } else {
        (void)snprintf(ret_text, ERROR_MESSAGE_SIZE, "%s", message);
    }
    return status;
}
