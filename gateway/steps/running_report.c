#include "gateway/steps/running_report.h"

#include "gateway/jobs/job_context.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    REPORT_PAUSE_MS = 500,
    LONG_US = 250 * 1000,    /* how long a step runs before it is reported */
    REPORT_STEPS_MAX = 1000, /* steps of a report; further ones are in no list until others have ended */
    WRITE_MS = 2000,
    ARENA_SIZE_MAX = 1 << 20,
};

static bool
is_long(const RunningStep *step, uint64_t now_us)
{
    return step->hold.fence == 0 && step->started_us + LONG_US <= now_us;
}

/* Copies the steps that are to be reported, in the order of the buckets; counts them when there is no room
 * to. */
static size_t
copy_long_steps(const RunningSteps *steps, StepRecord *room)
{
    uint64_t now_us = clock_wall_us();
    size_t count = 0;
    for (size_t index = 0; index < RUNNING_STEPS_BUCKETS; index++) {
        LIST_EACH(&steps->buckets[index], link)
        {
            const RunningStep *step = LIST_ITEM(link, RunningStep, link);
            if (count == REPORT_STEPS_MAX || !is_long(step, now_us)) {
                continue;
            }
            if (room != NULL) {
                room[count] = (StepRecord){.tenant = step->hold.tenant,
                    .id = step->hold.id,
                    .session = step->session,
                    .graph = step->graph,
                    .started_us = step->started_us};
            }
            count++;
        }
    }
    return count;
}

static void
set_timer(RunningReport *report)
{
    Loop *loop = report->steps->loop;
    timer_set(loop, &report->timer, loop_now_ns(loop) + REPORT_PAUSE_MS * CLOCK_NS_PER_MS);
}

static Status
write_report(Call *call, JobContext *context, const RunningReport *report)
{
    Store *store = NULL;
    TRY(job_store(call, context, STORE_ROLE_QUEUE, &store));
    return steps_report(call, store, report->running, report->count);
}

static void
report_on_job(Job *job, JobContext *context)
{
    const RunningReport *report = LIST_ITEM(job, RunningReport, job);
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + WRITE_MS * CLOCK_NS_PER_MS};
    Status status = write_report(&call, context, report);
    if (status != STATUS_OK && status != STATUS_UNAVAILABLE) {
        log_failure(LOG_WARNING, "running steps could not be reported", &call);
    }
}

static void
drop_report(RunningReport *report)
{
    memory_free(TAKE(report->running));
    report->is_busy = false;
}

static void
report_is_written(Job *job)
{
    RunningReport *report = LIST_ITEM(job, RunningReport, job);
    drop_report(report);
    if (!report->steps->is_closing) {
        set_timer(report);
    }
}

/* Hands what runs for long to a job thread. False when there is nothing, or no room for it now. */
static bool
begin_report(RunningReport *report)
{
    const RunningSteps *steps = &report->steps->running;
    report->count = copy_long_steps(steps, NULL);
    report->running = report->count == 0 ? NULL : memory_new(report->count, sizeof *report->running);
    if (report->running == NULL) {
        return false;
    }
    report->count = copy_long_steps(steps, report->running);
    report->is_busy = true;
    report->job = (Job){.loop = report->steps->loop, .run = report_on_job, .done = report_is_written};
    if (!job_submit(report->steps->steps->jobs, &report->job)) {
        drop_report(report);
    }
    return report->is_busy;
}

static void
report_is_due(Timer *timer)
{
    RunningReport *report = LIST_ITEM(timer, RunningReport, timer);
    if (!report->steps->is_closing && !begin_report(report)) {
        set_timer(report);
    }
}

void
running_report_begin(RunningReport *report, const StepLoop *steps)
{
    *report = (RunningReport){.steps = steps, .timer.fire = report_is_due};
    set_timer(report);
}

void
running_report_end(RunningReport *report)
{
    if (report->steps != NULL) {
        timer_clear(report->steps->loop, &report->timer);
        drop_report(report);
    }
}
