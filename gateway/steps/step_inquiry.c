#include "gateway/steps/step_inquiry.h"

#include <assert.h>

#include "shared/base/memory.h"

void
running_step_describe(const StepInquiry *inquiry, GraphId graph, uint64_t started_us, StepRecord *ret_step)
{
    *ret_step = (StepRecord){
        .tenant = inquiry->tenant,
        .id = inquiry->id,
        .session = inquiry->session,
        .graph = graph,
        .state = STEP_RUNNING,
        .is_async = false,
        .is_cancel_requested = inquiry->is_cancel,
        .priority = STEP_PRIORITY_NORMAL,
        .request = "",
        .attempts = 1,
        .created_us = started_us,
        .started_us = started_us,
        .error_code = "",
        .error_message = "",
        .error_node = "",
        .stats = "{}",
    };
}

bool
running_step_is_unrecorded(const StepRecord *step)
{
    return step->state == STEP_RUNNING && !step->is_async && step->fence == 0;
}

static void
look_up_running(StepInquiry *inquiry)
{
    RunningStep *step = running_steps_find(&inquiry->asked->running, inquiry->tenant, inquiry->id);
    inquiry->is_found =
        step != NULL && step->hold.fence == 0 && uuid_equal(step->session.value, inquiry->session.value);
    if (!inquiry->is_found) {
        return;
    }
    running_step_describe(inquiry, step->graph, step->started_us, &inquiry->record);
    if (inquiry->is_cancel) {
        step_cancel(step->run, "cancelled on request");
    }
}

static void
answer_at_home(Task *task)
{
    StepInquiry *inquiry = (StepInquiry *)(void *)task;
    inquiry->answered(inquiry);
}

static void
look_up_there(Task *task)
{
    StepInquiry *inquiry = (StepInquiry *)(void *)task;
    look_up_running(inquiry);
    inquiry->task.run = answer_at_home;
    loop_post(inquiry->home->loop, &inquiry->task);
}

void
step_inquire(StepInquiry *inquiry)
{
    assert(inquiry->home != NULL && inquiry->answered != NULL);

    inquiry->is_found = false;
    inquiry->asked = step_id_loop(inquiry->home->steps, inquiry->id);
    if (inquiry->asked == NULL) {
        inquiry->answered(inquiry);
        return;
    }
    if (inquiry->asked == inquiry->home) {
        look_up_running(inquiry);
        inquiry->answered(inquiry);
        return;
    }
    inquiry->task.run = look_up_there;
    loop_post(inquiry->asked->loop, &inquiry->task);
}

/* Names the step instead of pointing to it, as the step may have ended when its loop reads this. */
typedef struct Cancellation {
    Task task; /* first */
    StepLoop *loop;
    StepHold hold;
} Cancellation;

static void
cancel_there(Task *task)
{
    Cancellation *cancellation = (Cancellation *)(void *)task;
    const StepHold *hold = &cancellation->hold;
    RunningStep *step = running_steps_find(&cancellation->loop->running, hold->tenant, hold->id);
    if (step != NULL && step->hold.fence == hold->fence) {
        step_cancel(step->run, "cancelled on request");
    }
    memory_free(cancellation);
}

void
steps_cancel_running(Steps *steps, int loop_index, const StepHold *hold)
{
    assert(loop_index >= 0 && loop_index < steps->loop_count);

    Cancellation *cancellation = memory_new(1, sizeof *cancellation);
    if (cancellation == NULL) {
        return; /* whoever asks for it asks again with the next heartbeat */
    }
    *cancellation = (Cancellation){.task.run = cancel_there, .loop = steps->loops[loop_index], .hold = *hold};
    loop_post(cancellation->loop->loop, &cancellation->task);
}

typedef struct SessionEnd {
    Task task; /* first */
    StepLoop *loop;
    TenantId tenant;
    SessionId session;
} SessionEnd;

static void
end_session_there(Task *task)
{
    SessionEnd *end = (SessionEnd *)(void *)task;
    running_steps_cancel_session(&end->loop->running, end->tenant, end->session);
    memory_free(end);
}

void
steps_end_session(const Steps *steps, TenantId tenant, SessionId session)
{
    for (int index = 0; index < steps->loop_count; index++) {
        SessionEnd *end = memory_new(1, sizeof *end);
        if (end == NULL) {
            return;
        }
        *end = (SessionEnd){
            .task.run = end_session_there, .loop = steps->loops[index], .tenant = tenant, .session = session};
        loop_post(end->loop->loop, &end->task);
    }
}
