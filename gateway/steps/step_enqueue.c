/* Happy path: step_enqueue_together() puts the step into the gateway's batcher → step_enqueue_batch()
 * stores the feeds of all, then the steps, in one transaction → each gets its 202, and its loop goes on.
 *
 * Failures: when a batch cannot be committed (one step's session is gone, the quota does not allow all of
 * them), each of its steps is committed alone and fails for its own reason only. After a commit whose
 * reply was lost, each step is read back. */
#include "gateway/steps/step_enqueue.h"

#include <assert.h>

#include "gateway/jobs/job_context.h"
#include "gateway/queue/runner.h"
#include "gateway/steps/step_batch.h"
#include "gateway/steps/step_call.h"
#include "gateway/steps/step_json.h"
#include "gateway/tensors/tensor_store.h"
#include "shared/base/text.h"

enum {
    ATTEMPTS_MAX = 3,
    TAKEN_UP_MAX = 16, /* of a step that is run once, however many gateways take it up one after the other */
};

Status
step_describe(StepCall *step, StepNew *ret_step)
{
    assert(step->plan != NULL && step->graph != NULL);

    AUTO_BUFFER request = {0};
    step_write_request(&request, &step->body, step->graph->id_text);
    bool may_repeat = step->plan->is_pure || step->body.is_idempotent;
    bool is_once = step->promise.is_async && step_is_once(step);
    *ret_step = (StepNew){
        .id = step->id,
        .session = step->session_id,
        .graph = step->graph->id,
        .priority = (int)step->body.priority,
        .request = buffer_is_ok(&request) ? text_copy(step->call->arena, buffer_slice(&request)) : NULL,
        .attempts_max = may_repeat ? ATTEMPTS_MAX
                        : is_once  ? TAKEN_UP_MAX
                                   : 1,
        .timeout_ms = step->body.timeout_ms,
    };
    return ret_step->request == NULL ? call_fail_memory(step->call, "a step for the queue") : STATUS_OK;
}

void
step_accept(StepCall *step)
{
    assert(step->exchange != NULL && step->graph != NULL);

    Response *response = exchange_response(step->exchange);
    char path[STEP_PATH_SIZE];
    StepRecord record = {
        .id = step->id,
        .session = step->session_id,
        .graph = step->graph->id,
        .state = STEP_QUEUED,
        .is_async = true,
        .priority = step->body.priority,
        .created_us = step->received_us,
        .error_code = "",
        .error_message = "",
        .error_node = "",
        .stats = "{}",
    };
    step_path(step->session_id, step->id, path);
    step_write_document(response, &record, NULL);
    response_status(response, 202);
    response_header(response, "Location", path);
    response_header(response, "Retry-After", "1");
    if (step->promise.wait_ms > 0) {
        response_header_format(response, "Preference-Applied", "respond-async, wait=%llu",
            (unsigned long long)(step->promise.wait_ms / 1000));
    } else {
        response_header(response, "Preference-Applied", "respond-async");
    }
}

/* Describes the feeds in `wanted`, and in ret_blobs what is to be stored of each. */
static Status
describe_feeds(StepCall *step, StepNew *wanted, BlobPut *ret_blobs)
{
    return tensors_stored(
        step->call, step->plan->feeds, step->feeds, step->body.feed_count, &wanted->feeds, ret_blobs);
}

Status
step_enqueue(StepCall *step, Store *store, StepNew *wanted)
{
    Call *call = step->call;
    size_t count = step->body.feed_count;
    BlobPut *blobs = arena_alloc(call->arena, (count + 1) * sizeof *blobs);
    if (blobs == NULL) {
        return call_fail_memory(call, "the feeds of a step");
    }
    TRY(describe_feeds(step, wanted, blobs));
    TRY(blobs_put_all(call, store, step->tenant, blobs, count));
    return queue_enqueue(call, store, step->tenant, wanted);
}

static Status
commit_alone(StepCall *step, JobContext *context)
{
    Store *store = NULL;
    TRY(job_store(step->call, context, STORE_ROLE_APP, &store));
    TRY(store_begin(step->call, store, step->tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(step_enqueue(step, store, &step->promise.wanted));
    return store_commit(step->call, TAKE(transaction));
}

Status
step_read_back(const StepCall *step, Store *store, StepRecord *ret_step)
{
    Status status = steps_find(step->call, store, step->tenant, step->id, ret_step);
    return status == STATUS_NOT_FOUND
               ? call_fail(step->call, STATUS_UNAVAILABLE,
                     "the connection to PostgreSQL was lost before the step was committed")
               : status;
}

static Status
read_back(const StepCall *step, JobContext *context)
{
    Store *store = NULL;
    StepRecord found;
    TRY(job_store(step->call, context, STORE_ROLE_APP, &store));
    return step_read_back(step, store, &found);
}

static StepCall *
step_of(BatchItem *item)
{
    return LIST_ITEM(item, StepCall, promise.item);
}

static size_t
count_item_feeds(BatchItem *item)
{
    return step_of(item)->body.feed_count;
}

static Status
describe_item_feeds(BatchItem *item, BlobPut *ret_blobs)
{
    StepCall *step = step_of(item);
    return describe_feeds(step, &step->promise.wanted, ret_blobs);
}

static Status
enqueue_items(Call *call, Store *store, BatchItem *const *items, size_t count)
{
    const StepNew **steps = arena_alloc(call->arena, count * sizeof *steps);
    if (steps == NULL) {
        return call_fail_memory(call, "a batch of steps");
    }
    for (size_t index = 0; index < count; index++) {
        steps[index] = &step_of(items[index])->promise.wanted;
    }
    return queue_enqueue_all(call, store, items[0]->tenant, steps, count);
}

void
step_enqueue_batch(JobContext *context, BatchItem *const *items, size_t count)
{
    static const StepBatch batch = {
        .count_tensors = count_item_feeds, .describe = describe_item_feeds, .write_rows = enqueue_items};
    Status together = count > 1 ? step_batch_commit(&batch, context, items, count) : STATUS_UNAVAILABLE;
    for (size_t index = 0; index < count; index++) {
        StepCall *step = step_of(items[index]);
        Status status =
            together == STATUS_OK || together == STATUS_UNKNOWN ? together : commit_alone(step, context);
        status = status == STATUS_UNKNOWN ? read_back(step, context) : status;
        if (status == STATUS_OK) {
            step_accept(step);
        }
        step->promise.committed = status;
    }
    queue_runner_wake(step_of(items[0])->loop->steps->queue);
}

static void
batch_done(BatchItem *item)
{
    StepCall *step = step_of(item);
    bool is_queued = step->promise.committed == STATUS_OK;
    step->promise.is_queued = is_queued;
    step->promise.is_answered = is_queued;
    step->promise.told(step, step->promise.committed);
}

bool
step_enqueue_together(StepCall *step, void (*done)(StepCall *step, Status status))
{
    assert(step->promise.is_async && step->promise.wanted.request != NULL);

    step->promise.told = done;
    step->promise.item = (BatchItem){
        .loop = step->loop->loop,
        .tenant = step->tenant,
        .priority = (int)step->body.priority,
        .done = batch_done,
    };
    return batcher_put(step->loop->steps->enqueuer, &step->promise.item);
}
