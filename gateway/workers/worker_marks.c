#include "gateway/workers/worker_marks.h"

#include <stddef.h>

#include "gateway/app/gateway.h"
#include "gateway/store/workers.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum { LOOK_ARENA_SIZE_MAX = 8 << 20 };

struct WorkerMarks {
    Job job; /* first: a look into the database */
    Gateway *gateway;
    Loop *loop;
    Timer timer;
    Task look;      /* posted by worker_marks_look() */
    bool is_posted; /* atomic: it is on its way */
    bool is_looking;
    bool looks_again; /* a mark was set while a look was under way */
    bool has_stopped;
    Arena *arena; /* what the look has found */
    WorkerList workers;
};

static void
marks_read(Job *job, void *context)
{
    WorkerMarks *const marks = (WorkerMarks *)(void *)job;
    Call call = {.arena = marks->arena, .deadline_ns = clock_monotonic_ns() + 10 * CLOCK_NS_PER_S};
    Store *store = NULL;
    const bool is_read = job_store(&call, context, STORE_ROLE_QUEUE, &store) == STATUS_OK &&
                         workers_list(&call, store, &marks->workers) == STATUS_OK;
    if (!is_read) {
        log_failure(LOG_WARNING, "the workers' drain marks could not be read", &call);
    }
}

static void marks_look(WorkerMarks *marks);

static void
marks_done(Job *job)
{
    WorkerMarks *const marks = (WorkerMarks *)(void *)job;
    for (size_t index = 0; index < marks->workers.count && !marks->has_stopped; index++) {
        const WorkerRecord *const worker = &marks->workers.items[index];
        discovery_set_draining(marks->gateway->discovery, worker->name, worker->is_draining);
    }
    arena_free(marks->arena);
    marks->arena = NULL;
    marks->is_looking = false;
    if (marks->looks_again) {
        marks->looks_again = false;
        marks_look(marks);
    }
}

static void
marks_look(WorkerMarks *marks)
{
    if (marks->has_stopped) {
        return;
    }
    if (marks->is_looking) {
        marks->looks_again = true;
        return;
    }
    marks->workers = (WorkerList){0};
    marks->arena = arena_new(LOOK_ARENA_SIZE_MAX);
    marks->is_looking = marks->arena != NULL && job_submit(marks->gateway->jobs, &marks->job);
    if (!marks->is_looking) {
        arena_free(marks->arena); /* the next round looks again */
        marks->arena = NULL;
    }
}

static void
look_due(Timer *timer)
{
    WorkerMarks *const marks = (WorkerMarks *)(void *)((char *)timer - offsetof(WorkerMarks, timer));
    marks_look(marks);
    timer_set(marks->loop, timer, loop_now_ns(marks->loop) + WORKER_MARKS_MS * CLOCK_NS_PER_MS);
}

static void
look_now(Task *task)
{
    WorkerMarks *const marks = (WorkerMarks *)(void *)((char *)task - offsetof(WorkerMarks, look));
    atomic_store_release(&marks->is_posted, false);
    marks_look(marks);
}

Status
worker_marks_start(Call *call, Gateway *gateway, WorkerMarks **ret_marks)
{
    WorkerMarks *const marks = memory_new(1, sizeof *marks);
    if (marks == NULL) {
        return call_fail_memory(call, "the workers' drain marks");
    }
    marks->gateway = gateway;
    marks->loop = gateway->loops[0]->loop;
    marks->job.loop = marks->loop;
    marks->job.run = marks_read;
    marks->job.done = marks_done;
    marks->timer.fire = look_due;
    marks->look.run = look_now;
    timer_set(marks->loop, &marks->timer, loop_now_ns(marks->loop) + WORKER_MARKS_MS * CLOCK_NS_PER_MS);
    *ret_marks = marks;
    return STATUS_OK;
}

void
worker_marks_look(WorkerMarks *marks)
{
    if (!atomic_exchange_acq_rel(&marks->is_posted, true)) {
        loop_post(marks->loop, &marks->look);
    }
}

void
worker_marks_stop(WorkerMarks *marks)
{
    if (marks != NULL) {
        marks->has_stopped = true;
        timer_clear(marks->loop, &marks->timer);
    }
}

void
worker_marks_free(WorkerMarks *marks)
{
    memory_free(marks);
}
