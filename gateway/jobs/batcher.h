/* Work on the database that is done for many at once: what comes while a batch is being written waits and
 * goes into the next one. So a commit, a wait for a row and a round trip are paid once a batch, and who comes
 * alone does not wait.
 *
 * One batch is under way at a time, on a job thread; the items of one tenant and priority make a batch, and
 * groups take turns.
 *
 * Ownership: an item lives inside its owner's struct, from batcher_put() until `done` is called.
 * Threads:   batcher_put() any; `run` a job thread; `done` the item's loop. */
#pragma once

#include "gateway/domain/tenant.h"
#include "gateway/jobs/job_pool.h"

enum { BATCH_ITEMS_MAX = 100 };

typedef struct Batcher Batcher;

typedef struct BatchItem {
    Task task; /* first: how `done` gets back to the loop */
    struct BatchItem *next;
    Loop *loop;
    TenantId tenant;
    int priority;
    void (*done)(struct BatchItem *item);
} BatchItem;

/* At most BATCH_ITEMS_MAX of one tenant and priority; the outcome is written down in each. */
typedef void (*BatchRun)(JobContext *context, BatchItem *const *items, size_t count);

/* NULL without memory. */
MUST_USE Batcher *batcher_new(JobPool *jobs, BatchRun run);
void batcher_free(Batcher *batcher); /* when the job threads have ended; NULL is allowed */

/* False when no job thread can be had: the item was not taken. */
MUST_USE bool batcher_put(Batcher *batcher, BatchItem *item);
