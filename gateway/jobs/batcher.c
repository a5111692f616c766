#include "gateway/jobs/batcher.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

struct Batcher {
    Job job; /* first; may be submitted again as soon as is_running is false, as nobody waits for it */
    JobPool *jobs;
    BatchRun run;
    Mutex lock; /* guards what follows */
    BatchItem *first;
    BatchItem **last;
    bool is_running;
    TenantId tenant; /* of the last batch */
    int priority;
};

static bool
is_of(const BatchItem *item, TenantId tenant, int priority)
{
    return item->priority == priority && uuid_equal(item->tenant.value, tenant.value);
}

/* Returns an item of the next group: the oldest whose group is not the last batch's, so that groups take
 * turns. */
static const BatchItem *
choose_group(const Batcher *batcher)
{
    const BatchItem *item = batcher->first;
    while (item != NULL && is_of(item, batcher->tenant, batcher->priority)) {
        item = item->next;
    }
    return item == NULL ? batcher->first : item;
}

static size_t
take_batch(Batcher *batcher, BatchItem **ret_items)
{
    size_t count = 0;
    mutex_lock(&batcher->lock);
    const BatchItem *chosen = choose_group(batcher);
    batcher->is_running = chosen != NULL;
    if (chosen != NULL) {
        batcher->tenant = chosen->tenant;
        batcher->priority = chosen->priority;
    }
    BatchItem **link = &batcher->first;
    while (*link != NULL && count < BATCH_ITEMS_MAX) {
        BatchItem *item = *link;
        if (is_of(item, batcher->tenant, batcher->priority)) {
            *link = item->next;
            ret_items[count++] = item;
        } else {
            link = &item->next;
        }
    }
    if (*link == NULL) {
        batcher->last = link;
    }
    mutex_unlock(&batcher->lock);
    return count;
}

static void
tell_done(Task *task)
{
    BatchItem *item = (BatchItem *)(void *)task;
    item->done(item);
}

static void
run_batches(Job *job, JobContext *context)
{
    Batcher *batcher = (Batcher *)(void *)job;
    BatchItem *items[BATCH_ITEMS_MAX];
    for (size_t count = take_batch(batcher, items); count > 0; count = take_batch(batcher, items)) {
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
    assert(jobs != NULL && run != NULL);

    Batcher *batcher = memory_new(1, sizeof *batcher);
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
    assert(item->loop != NULL && item->done != NULL);

    item->next = NULL;
    mutex_lock(&batcher->lock);
    bool is_taken = batcher->is_running || job_submit(batcher->jobs, &batcher->job);
    if (is_taken) {
        batcher->is_running = true;
        *batcher->last = item;
        batcher->last = &item->next;
    }
    mutex_unlock(&batcher->lock);
    return is_taken;
}
