/* Questions and orders about steps that other loops run: asked of the loop that a step's id names, answered
 * on the loop that asks.
 *
 * Ownership: a StepInquiry lives in its owner's struct until `answered` is called.
 * Threads:   step_inquire() the asker's loop; steps_cancel_running() and steps_end_session() any thread. */
#pragma once

#include "gateway/steps/step_loop.h"

typedef struct StepInquiry {
    Task task; /* first */
    StepLoop *home;
    StepLoop *asked;
    TenantId tenant;
    SessionId session;
    StepId id;
    bool is_cancel; /* cancels the step too */
    bool is_found;
    StepRecord record; /* of a running step; without texts */
    void (*answered)(struct StepInquiry *inquiry);
} StepInquiry;

/* Asks; `inquiry` gives home, tenant, session, id, is_cancel and answered(), which is called on `home`,
 * perhaps at once. A queued step is not found here: the database tells of it. */
void step_inquire(StepInquiry *inquiry);

/* Makes the record of a running synchronous step, for whoever has inquired after it. */
void running_step_describe(
    const StepInquiry *inquiry, GraphId graph, uint64_t started_us, StepRecord *ret_step);

/* Returns whether the record is of a running step that the database does not know. */
bool running_step_is_unrecorded(const StepRecord *step);

/* Cancels the step that its loop runs under this very hold, if it still does. */
void steps_cancel_running(Steps *steps, int loop_index, const StepHold *hold);

/* Cancels what runs of a session that has been deleted, on all loops. Without memory, steps end with their
 * results or at their deadlines. */
void steps_end_session(const Steps *steps, TenantId tenant, SessionId session);
