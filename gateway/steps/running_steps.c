#include "gateway/steps/running_steps.h"

#include <assert.h>

enum { RANDOM_BYTE = sizeof(Uuid) - 2 }; /* of a step's id: the last byte names the loop */

void
running_steps_init(RunningSteps *steps)
{
    for (size_t index = 0; index < RUNNING_STEPS_BUCKETS; index++) {
        list_init(&steps->buckets[index]);
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
