#include "gateway/steps/step_batch.h"

#include <assert.h>

#include "shared/base/clock.h"

enum { ARENA_SIZE_MAX = 16 << 20, TIMEOUT_MS = 10000 };

static Status
describe_all(const StepBatch *batch, Call *call, BatchItem *const *items, size_t count, BlobPut **ret_blobs,
    size_t *ret_count)
{
    size_t tensor_count = 0;
    for (size_t index = 0; index < count; index++) {
        tensor_count += batch->count_tensors(items[index]);
    }
    BlobPut *blobs = arena_alloc(call->arena, (tensor_count + 1) * sizeof *blobs);
    if (blobs == NULL) {
        return call_fail_memory(call, "a batch of steps");
    }
    *ret_blobs = blobs;
    *ret_count = tensor_count;
    for (size_t index = 0; index < count; index++) {
        TRY(batch->describe(items[index], blobs));
        blobs += batch->count_tensors(items[index]);
    }
    return STATUS_OK;
}

Status
step_batch_commit(const StepBatch *batch, JobContext *context, BatchItem *const *items, size_t count)
{
    assert(count > 0);

    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + TIMEOUT_MS * CLOCK_NS_PER_MS};
    TenantId tenant = items[0]->tenant;
    BlobPut *blobs = NULL;
    size_t blob_count = 0;
    Store *store = NULL;
    if (arena == NULL) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    TRY(job_store(&call, context, STORE_ROLE_APP, &store));
    TRY(describe_all(batch, &call, items, count, &blobs, &blob_count));
    TRY(store_begin(&call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(blobs_put_all(&call, store, tenant, blobs, blob_count));
    TRY(batch->write_rows(&call, store, items, count));
    return store_commit(&call, TAKE(transaction));
}
