#include "gateway/graphs/plan_obtain.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"

/* The state of a job thread that waits while another compiles the plan. */
typedef struct Wait {
    PlanWaiter waiter;
    Mutex lock;
    Condition ready;
    bool is_ready;
    PlanOutcome outcome;
    char message[ERROR_MESSAGE_SIZE];
} Wait;

static void
wait_end(PlanWaiter *waiter, const PlanOutcome *outcome)
{
    Wait *wait = (Wait *)(void *)waiter;
    mutex_lock(&wait->lock);
    wait->outcome = *outcome;
    (void)snprintf(
        wait->message, sizeof wait->message, "%s", outcome->message == NULL ? "" : outcome->message);
    wait->is_ready = true;
    condition_signal(&wait->ready);
    mutex_unlock(&wait->lock);
}

static void
wait_begin(Wait *wait)
{
    *wait = (Wait){.waiter = {.on_ready = wait_end}};
    mutex_init(&wait->lock);
    condition_init(&wait->ready);
    list_init(&wait->waiter.link);
}

static void
wait_done(Wait *wait)
{
    condition_done(&wait->ready);
    mutex_done(&wait->lock);
}

/* Waits until the other has compiled; false when `deadline_ns` came first (0: never). */
static bool
wait_until(Wait *wait, uint64_t deadline_ns)
{
    mutex_lock(&wait->lock);
    bool has_time = true;
    while (!wait->is_ready && has_time) {
        has_time = condition_wait_until(
            &wait->ready, &wait->lock, deadline_ns == 0 ? CONDITION_FOREVER : deadline_ns);
    }
    bool is_ready = wait->is_ready;
    mutex_unlock(&wait->lock);
    return is_ready;
}

static Status
compile_plan(Call *call, PlanCache *cache, const PlanRequest *request, Plan **ret_plan)
{
    Status status = plan_compile(call, request, ret_plan);
    if (status == STATUS_OK) {
        plan_cache_put(cache, request->signature->key, *ret_plan);
    } else {
        plan_cache_fail(cache, request->signature->key, &call->error);
    }
    return status;
}

static Status
await_plan(Call *call, PlanCache *cache, Wait *wait, PlanOutcome *ret_outcome)
{
    if (!wait_until(wait, call->deadline_ns)) {
        if (plan_cache_leave(cache, &wait->waiter)) {
            return call_fail(call, STATUS_DEADLINE_EXCEEDED, "the plan was not compiled before the deadline");
        }
        (void)wait_until(wait, 0); /* the waiter could not leave, as it is being called at this moment */
    }
    *ret_outcome = wait->outcome;
    return STATUS_OK;
}

Status
plan_obtain(Call *call, PlanCache *cache, const PlanRequest *request, Plan **ret_plan)
{
    assert(request->graph != NULL && request->signature != NULL);

    Wait wait;
    wait_begin(&wait);
    PlanOutcome outcome = {0};
    Status status = STATUS_OK;
    outcome.lookup = plan_cache_get(cache, request->signature->key, &wait.waiter, &outcome.plan);
    if (outcome.lookup == PLAN_WAIT) {
        status = await_plan(call, cache, &wait, &outcome);
    }
    if (status == STATUS_OK && outcome.lookup == PLAN_COMPILE) {
        status = compile_plan(call, cache, request, &outcome.plan);
    } else if (status == STATUS_OK && outcome.lookup == PLAN_FAILED) {
        status = call_fail(call, outcome.code, "%s", wait.message);
    }
    wait_done(&wait);
    if (status == STATUS_OK) {
        *ret_plan = outcome.plan;
    }
    return status;
}

void
plans_forget(void *plans, const GraphSnapshot *graph)
{
    plan_cache_forget_graph(plans, slice_from_string(graph->id_text), NULL, NULL);
}
