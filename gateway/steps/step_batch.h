/* Writes the steps of a batch in one transaction: what is to be stored of their tensors, then their rows.
 *
 * Threads: a job thread.
 * Errors:  those of the store, and RESOURCE_EXHAUSTED. Nothing is written then, except that UNKNOWN says that
 *          the reply to the commit was lost. */
#pragma once

#include "gateway/jobs/batcher.h"
#include "gateway/jobs/job_context.h"
#include "gateway/store/blobs.h"

/* The functions that write the items of one kind of batch. */
typedef struct StepBatch {
    size_t (*count_tensors)(BatchItem *item);

    /* Describes the item's tensors in its row, and in ret_blobs what is to be stored of each. */
    Status (*describe)(BatchItem *item, BlobPut *ret_blobs);

    Status (*write_rows)(Call *call, Store *store, BatchItem *const *items, size_t count);
} StepBatch;

MUST_USE Status step_batch_commit(
    const StepBatch *batch, JobContext *context, BatchItem *const *items, size_t count);
