/* Batches of work on the database: items that arrive while a batch is being written go into the next one.
 * A commit, a lock on a row and a round trip are paid once a batch, and a lone item does not wait.
 *
 * One batch is under way at a time, on a job thread; items of one tenant and priority make a batch, and
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

/* Does the work of at most BATCH_ITEMS_MAX items of one tenant and priority, and notes the outcome in
 * each. */
typedef void (*BatchRun)(JobContext *context, BatchItem *const *items, size_t count);

/* NULL without memory. */
MUST_USE Batcher *batcher_new(JobPool *jobs, BatchRun run);
void batcher_free(Batcher *batcher); /* after the job threads have ended; NULL is allowed */

/* Takes an item. False when no job thread can be had: the item was not taken. */
MUST_USE bool batcher_put(Batcher *batcher, BatchItem *item);
