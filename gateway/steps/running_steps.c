#include "gateway/steps/running_steps.h"

#include "gateway/app/gateway.h"
#include "shared/base/memory.h"

enum { LOOP_BYTE = sizeof(Uuid) - 1 };

void
running_steps_init(RunningSteps *steps)
{
    for (size_t index = 0; index < RUNNING_STEPS_BUCKETS; index++) {
        list_init(&steps->buckets[index]);
    }
}

/* The bytes before the last are random. */
static ListLink *
bucket_of(RunningSteps *steps, StepId id)
{
    return &steps->buckets[id.value.bytes[LOOP_BYTE - 1] % RUNNING_STEPS_BUCKETS];
}

void
running_steps_add(RunningSteps *steps, RunningStep *step)
{
    list_append(bucket_of(steps, step->hold.id), &step->link);
}

static RunningStep *
find(RunningSteps *steps, TenantId tenant, StepId id)
{
    LIST_EACH(bucket_of(steps, id), link)
    {
        RunningStep *const step = LIST_ITEM(link, RunningStep, link);
        if (uuid_equal(step->hold.id.value, id.value) && uuid_equal(step->hold.tenant.value, tenant.value)) {
            return step;
        }
    }
    return NULL;
}

StepId
step_id_new(int loop_index)
{
    StepId id = {uuid_new()};
    id.value.bytes[LOOP_BYTE] = (unsigned char)loop_index;
    return id;
}

/* --- Questions ------------------------------------------------------------------------------------------ */

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

/* What was queued is in the database, and told from there. */
static void
look(StepInquiry *inquiry)
{
    RunningStep *const step = find(&inquiry->asked->running, inquiry->tenant, inquiry->id);
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
come_home(Task *task)
{
    StepInquiry *const inquiry = (StepInquiry *)(void *)task;
    inquiry->answered(inquiry);
}

static void
look_there(Task *task)
{
    StepInquiry *const inquiry = (StepInquiry *)(void *)task;
    look(inquiry);
    inquiry->task.run = come_home;
    loop_post(inquiry->home->loop, &inquiry->task);
}

void
step_inquire(StepInquiry *inquiry)
{
    const Gateway *const gateway = inquiry->home->gateway;
    const int loop_index = inquiry->id.value.bytes[LOOP_BYTE];
    inquiry->is_found = false;
    if (loop_index >= gateway->loop_count) {
        inquiry->answered(inquiry);
        return;
    }
    inquiry->asked = gateway->loops[loop_index];
    if (inquiry->asked == inquiry->home) {
        look(inquiry);
        inquiry->answered(inquiry);
        return;
    }
    inquiry->task.run = look_there;
    loop_post(inquiry->asked->loop, &inquiry->task);
}

/* --- Cancelling from other threads ---------------------------------------------------------------------- */

/* Names the step instead of pointing to it: it may be gone when the loop comes to this. */
typedef struct Cancellation {
    Task task; /* first */
    GatewayLoop *loop;
    StepHold hold;
} Cancellation;

static void
cancel_there(Task *task)
{
    Cancellation *const cancellation = (Cancellation *)(void *)task;
    const StepHold *const hold = &cancellation->hold;
    RunningStep *const step = find(&cancellation->loop->running, hold->tenant, hold->id);
    if (step != NULL && step->hold.fence == hold->fence) {
        step_cancel(step->run, "cancelled on request");
    }
    memory_free(cancellation);
}

void
running_steps_cancel(Gateway *gateway, int loop_index, const StepHold *hold)
{
    Cancellation *const cancellation = memory_new(1, sizeof *cancellation);
    if (cancellation == NULL) {
        return; /* whoever asks for it asks again with the next heartbeat */
    }
    cancellation->task.run = cancel_there;
    cancellation->loop = gateway->loops[loop_index];
    cancellation->hold = *hold;
    loop_post(cancellation->loop->loop, &cancellation->task);
}

/* --- Deleted sessions ----------------------------------------------------------------------------------- */

static void
cancel_bucket(const ListLink *bucket, TenantId tenant, SessionId session)
{
    LIST_EACH(bucket, link)
    {
        const RunningStep *const step = LIST_ITEM(link, RunningStep, link);
        if (uuid_equal(step->session.value, session.value) &&
            uuid_equal(step->hold.tenant.value, tenant.value)) {
            step_cancel(step->run, "its session has been deleted");
        }
    }
}

void
running_steps_cancel_session(RunningSteps *steps, TenantId tenant, SessionId session)
{
    for (size_t index = 0; index < RUNNING_STEPS_BUCKETS; index++) {
        cancel_bucket(&steps->buckets[index], tenant, session);
    }
}
