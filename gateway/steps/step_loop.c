#include "gateway/steps/step_loop.h"

#include <assert.h>

#include "shared/base/memory.h"

enum { LOOP_BYTE = sizeof(Uuid) - 1 };

bool
step_loop_init(StepLoop *loop, Steps *steps, Loop *on, Dispatcher *dispatcher)
{
    assert(on != NULL && dispatcher != NULL && steps->loop_count < STEP_LOOPS_MAX);

    *loop = (StepLoop){.steps = steps, .loop = on, .dispatcher = dispatcher, .index = steps->loop_count};
    running_steps_init(&loop->running);
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
        News *news = is_other ? memory_new(1, sizeof *news) : NULL;
        if (news != NULL) {
            *news = (News){.task = {.run = note_registration},
                .dispatcher = other->dispatcher,
                .plan = plan_ref(plan),
                .report = *report};
            loop_post(other->loop, &news->task);
        }
    }
}
