#include "gateway/steps/step_loop.h"

#include <assert.h>

#include "shared/base/memory.h"

/* The bytes of a step's id that name its loop, and its bucket among the loop's running steps. */
enum { LOOP_BYTE = sizeof(Uuid) - 1, RANDOM_BYTE = LOOP_BYTE - 1 };

bool
step_loop_init(StepLoop *loop, Steps *steps, Loop *on, Dispatcher *dispatcher)
{
    assert(on != NULL && dispatcher != NULL && steps->loop_count < STEP_LOOPS_MAX);

    *loop = (StepLoop){.steps = steps, .loop = on, .dispatcher = dispatcher, .index = steps->loop_count};
    for (size_t index = 0; index < RUNNING_STEPS_BUCKETS; index++) {
        list_init(&loop->running.buckets[index]);
    }
    list_init(&loop->queued);
    loop->records = recorder_ring(steps->recorder, on);
    if (loop->records == NULL) {
        return false;
    }
    steps->loops[steps->loop_count++] = loop;
    return true;
}

void
step_loop_done(StepLoop *loop)
{
    assert(list_is_empty(&loop->queued));

    if (loop->records != NULL) {
        assert(loop->steps->loops[loop->steps->loop_count - 1] == loop);
        loop->steps->loop_count--;
    }
    buffer_done(&loop->scratch);
}

StepId
step_id_new(const StepLoop *loop)
{
    StepId id = {uuid_new()};
    id.value.bytes[LOOP_BYTE] = (unsigned char)loop->index;
    return id;
}

StepLoop *
step_id_loop(const Steps *steps, StepId id)
{
    int index = id.value.bytes[LOOP_BYTE];
    return index < steps->loop_count ? steps->loops[index] : NULL;
}

/* The report of a registration on its way to another loop. */
typedef struct News {
    Task task; /* first */
    Dispatcher *dispatcher;
    Plan *plan;
    StepReport report;
    SlotReport slots[];
} News;

static void
note_registration(Task *task)
{
    News *news = (News *)(void *)task;
    dispatcher_note_registered(news->dispatcher, news->plan, &news->report);
    plan_unref(news->plan);
    memory_free(news);
}

void
step_loop_share_registration(const StepLoop *loop, Plan *plan, const StepReport *report)
{
    const Steps *steps = loop->steps;
    for (int index = 0; index < steps->loop_count; index++) {
        const StepLoop *other = steps->loops[index];
        bool is_other = other != loop && !replica_is_draining(steps->replica);
        size_t slots_size = report->slot_count * sizeof(SlotReport);
        News *news = is_other ? memory_new(1, sizeof *news + slots_size) : NULL;
        if (news != NULL) {
            *news = (News){.task = {.run = note_registration},
                .dispatcher = other->dispatcher,
                .plan = plan_ref(plan),
                .report = *report};
            memcpy(news->slots, report->slots, slots_size);
            news->report.slots = news->slots;
            loop_post(other->loop, &news->task);
        }
    }
}

static ListLink *
bucket_of(RunningSteps *steps, StepId id)
{
    return &steps->buckets[id.value.bytes[RANDOM_BYTE] % RUNNING_STEPS_BUCKETS];
}

void
running_steps_add(RunningSteps *steps, RunningStep *step)
{
    assert(step->run != NULL);

    list_append(bucket_of(steps, step->hold.id), &step->link);
}

RunningStep *
running_steps_find(RunningSteps *steps, TenantId tenant, StepId id)
{
    LIST_EACH(bucket_of(steps, id), link)
    {
        RunningStep *step = LIST_ITEM(link, RunningStep, link);
        if (uuid_equal(step->hold.id.value, id.value) && uuid_equal(step->hold.tenant.value, tenant.value)) {
            return step;
        }
    }
    return NULL;
}

static void
cancel_bucket(const ListLink *bucket, TenantId tenant, SessionId session)
{
    LIST_EACH(bucket, link)
    {
        const RunningStep *step = LIST_ITEM(link, RunningStep, link);
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
