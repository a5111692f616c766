#include "gateway/jobs/batcher.h"

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

struct Batcher {
    Job job; /* first; nobody waits for it: it may be submitted again as soon as is_running is false */
    JobPool *jobs;
    BatchRun run;
    Mutex lock; /* guards what follows */
    BatchItem *first;
    BatchItem **last;
    bool is_running;
    TenantId tenant; /* of the batch before */
    int priority;
};

static bool
is_of(const BatchItem *item, TenantId tenant, int priority)
{
    return item->priority == priority && uuid_equal(item->tenant.value, tenant.value);
}

/* The next group: that of the oldest item which is not of the batch before, so that groups take turns. */
static const BatchItem *
choose(const Batcher *batcher)
{
    const BatchItem *item = batcher->first;
    while (item != NULL && is_of(item, batcher->tenant, batcher->priority)) {
        item = item->next;
    }
    return item == NULL ? batcher->first : item;
}

static size_t
take(Batcher *batcher, BatchItem **ret_items)
{
    size_t count = 0;
    mutex_lock(&batcher->lock);
    const BatchItem *const chosen = choose(batcher);
    batcher->is_running = chosen != NULL;
    if (chosen != NULL) {
        batcher->tenant = chosen->tenant;
        batcher->priority = chosen->priority;
    }
    BatchItem **place = &batcher->first;
    while (*place != NULL && count < BATCH_ITEMS_MAX) {
        BatchItem *const item = *place;
        if (is_of(item, batcher->tenant, batcher->priority)) {
            *place = item->next;
            ret_items[count++] = item;
        } else {
            place = &item->next;
        }
    }
    if (*place == NULL) {
        batcher->last = place;
    }
    mutex_unlock(&batcher->lock);
    return count;
}

static void
tell_done(Task *task)
{
    BatchItem *const item = (BatchItem *)(void *)task;
    item->done(item);
}

static void
run_batches(Job *job, JobContext *context)
{
    Batcher *const batcher = (Batcher *)(void *)job;
    BatchItem *items[BATCH_ITEMS_MAX];
    for (size_t count = take(batcher, items); count > 0; count = take(batcher, items)) {
        batcher->run(context, items, count);
        for (size_t index = 0; index < count; index++) {
            items[index]->task.run = tell_done;
            loop_post(items[index]->loop, &items[index]->task);
        }
    }
}

Batcher *
batcher_new(JobPool *jobs, BatchRun run)
{
    Batcher *const batcher = memory_new(1, sizeof *batcher);
    if (batcher == NULL) {
        return NULL;
    }
    batcher->job.run = run_batches;
    batcher->jobs = jobs;
    batcher->run = run;
    batcher->last = &batcher->first;
    mutex_init(&batcher->lock);
    return batcher;
}

void
batcher_free(Batcher *batcher)
{
    if (batcher != NULL) {
        mutex_done(&batcher->lock);
        memory_free(batcher);
    }
}

bool
batcher_put(Batcher *batcher, BatchItem *item)
{
    item->next = NULL;
    mutex_lock(&batcher->lock);
    const bool is_taken = batcher->is_running || job_submit(batcher->jobs, &batcher->job);
    if (is_taken) {
        batcher->is_running = true;
        *batcher->last = item;
        batcher->last = &item->next;
    }
    mutex_unlock(&batcher->lock);
    return is_taken;
}
