#include "gateway/steps/queued_step.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/jobs/job_context.h"
#include "gateway/steps/step_batch.h"
#include "gateway/steps/step_call.h"
#include "gateway/steps/step_json.h"
#include "gateway/steps/step_reply.h"
#include "gateway/tensors/tensor_store.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/telemetry/log.h"

enum {
    ARENA_SIZE_MAX = 256 << 20,
    PREPARE_MS = 60000,
    FINISH_MS = 30000,
    FINISH_RETRY_MS = 500, /* while PostgreSQL is gone */
};

typedef struct QueuedStep {
    Job job;        /* first */
    BatchItem item; /* instead of the job, for an end that is written in a batch */
    ListLink link;  /* in StepLoop.queued */
    Call call;
    StepHold hold;
    int priority;
    uint64_t began_ns;    /* monotonic: when another gateway first had it to run; 0: none had */
    uint64_t deadline_ns; /* monotonic: the gateway's wall clock may be wrong, or jump */
    Slice request;
    StepCall step;
    Timer again;
    Status status;   /* of the last stage */
    Status written;  /* of writing the end to the database */
    bool needs_long; /* a cache has missed: a graph must be read or a plan made, which may take long */
    bool has_run;    /* a worker may have begun it */
    bool may_repeat; /* another gateway may run it again */
    StepOutcome outcome;
} QueuedStep;

static void prepare_on_job(Job *job, JobContext *context);
static void prepare_at_length(Job *job, JobContext *context);
static void run_prepared_step(Job *job);

static void
queued_step_free(QueuedStep *queued)
{
    Arena *arena = queued->call.arena;
    list_remove(&queued->link);
    arena_free(arena); /* holds the step itself */
}

static void
forget_step(QueuedStep *queued)
{
    StepLoop *loop = queued->step.loop;
    timer_clear(loop->loop, &queued->again);
    queue_runner_forget(loop->steps->queue, &queued->hold);
    queued_step_free(queued);
}

void
queued_steps_free(StepLoop *loop)
{
    LIST_EACH(&loop->queued, link)
    {
        QueuedStep *queued = LIST_ITEM(link, QueuedStep, link);
        timer_clear(loop->loop, &queued->again);
        queued_step_free(queued);
    }
}

static bool
submit_job(
    QueuedStep *queued, void (*run)(Job *job, JobContext *context), void (*done)(Job *job), uint64_t time_ms)
{
    StepLoop *loop = queued->step.loop;
    queued->call.deadline_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    queued->job = (Job){
        .loop = loop->loop,
        .tenant = queued->hold.tenant,
        .is_long = run == prepare_at_length,
        .run = run,
        .done = done,
    };
    return job_submit(loop->steps->jobs, &queued->job);
}

/* Chooses the loops in turn, so that they share the work. */
static StepLoop *
choose_loop(Steps *steps)
{
    return steps->loops[steps->queue_turn++ % (unsigned)steps->loop_count];
}

/* Makes the request id from the digits of the step's id, by which the logs of gateway and workers can be
 * matched. */
static void
write_request_id(Call *call, StepId id)
{
    char text[ID_TEXT_SIZE];
    id_to_text("stp", id.value, text);
    (void)snprintf(call->request_id, sizeof call->request_id, "%.32s", text + sizeof "stp_" - 1);
}

static QueuedStep *
queued_step_new(Steps *steps, const StepRecord *record)
{
    Arena *arena = arena_new(ARENA_SIZE_MAX);
    QueuedStep *queued = arena == NULL ? NULL : arena_alloc(arena, sizeof *queued);
    const char *request = queued == NULL ? NULL : text_copy(arena, slice_from_string(record->request));
    if (request == NULL) {
        arena_free(arena);
        return NULL;
    }
    list_init(&queued->link);
    queued->call.arena = arena;
    queued->hold = (StepHold){.tenant = record->tenant, .id = record->id, .fence = record->fence};
    queued->priority = (int)record->priority;
    uint64_t begun_us = record->begun_us > 0 ? (uint64_t)record->begun_us : 0;
    queued->began_ns = begun_us == 0 ? 0 : clock_monotonic_ns() - begun_us * CLOCK_NS_PER_US;
    uint64_t left_us = record->left_us > 0 ? (uint64_t)record->left_us : 0;
    queued->deadline_ns = clock_monotonic_ns() + left_us * CLOCK_NS_PER_US;
    queued->request = slice_from_string(request);
    write_request_id(&queued->call, record->id);
    if (!step_call_init(&queued->step, choose_loop(steps), &queued->call)) {
        arena_free(arena);
        return NULL;
    }
    queued->step.tenant = record->tenant;
    queued->step.id = record->id;
    queued->step.session_id = record->session;
    return queued;
}

bool
queued_step_run(Steps *steps, const StepRecord *record)
{
    QueuedStep *queued = queued_step_new(steps, record);
    if (queued == NULL) {
        return false;
    }
    if (!submit_job(queued, prepare_on_job, run_prepared_step, PREPARE_MS)) {
        queued_step_free(queued);
        return false;
    }
    return true;
}

static size_t
output_count(const QueuedStep *queued)
{
    return queued->status == STATUS_OK ? queued->step.plan->fetch_count : 0;
}

/* Describes the outputs in the step's end, and in ret_blobs what is to be stored of each. */
static Status
describe_outputs(QueuedStep *queued, BlobPut *ret_blobs)
{
    size_t count = output_count(queued);
    const Slice *names = count == 0 ? NULL : queued->step.plan->fetches;
    return tensors_stored(
        &queued->call, names, queued->step.outputs, count, &queued->outcome.outputs, ret_blobs);
}

static Status
commit_end(QueuedStep *queued, Store *store)
{
    Call *call = &queued->call;
    size_t count = output_count(queued);
    BlobPut *blobs = arena_alloc(call->arena, (count + 1) * sizeof *blobs);
    if (blobs == NULL) {
        return call_fail_memory(call, "the outputs of a step");
    }
    TRY(describe_outputs(queued, blobs));
    TRY(store_begin(call, store, queued->hold.tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(blobs_put_all(call, store, queued->hold.tenant, blobs, count));
    TRY(queue_end(call, store, &queued->hold, &queued->outcome));
    return store_commit(call, TAKE(transaction));
}

static bool
is_passing(Status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_ABORTED || status == STATUS_RESOURCE_EXHAUSTED;
}

/* Notes how the step ended. The texts are copied into the arena, as writing the end uses the call's error
 * again. */
static void
end_with(QueuedStep *queued, const Failure *failure)
{
    Status status = failure->code;
    queued->status = status;
    queued->outcome.state = step_state_of(status);
    queued->outcome.error_code = status == STATUS_OK ? NULL : status_name(status);
    queued->outcome.error_message =
        status == STATUS_OK ? NULL : text_copy(queued->call.arena, slice_from_string(failure->message));
    queued->outcome.error_node =
        failure->node[0] == '\0' ? NULL : text_copy(queued->call.arena, slice_from_string(failure->node));
}

static Status
put_back(QueuedStep *queued, JobContext *context)
{
    Store *store = NULL;
    StepState state;
    TRY(job_store(&queued->call, context, STORE_ROLE_QUEUE, &store));
    return queue_retry(&queued->call, store, &queued->hold, &queued->outcome, queued->has_run, &state);
}

static Status
write_end(QueuedStep *queued, JobContext *context)
{
    Store *store = NULL;
    if (is_passing(queued->status)) {
        return put_back(queued, context);
    }
    TRY(job_store(&queued->call, context, STORE_ROLE_APP, &store));
    return commit_end(queued, store);
}

static bool
is_out_of_reach(Status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_UNKNOWN || status == STATUS_DEADLINE_EXCEEDED;
}

/* Writes the end of one step; a step whose outputs cannot be kept (too large, over the quota) fails with
 * that reason. */
static void
end_alone(QueuedStep *queued, JobContext *context)
{
    Call *call = &queued->call;
    Status status = write_end(queued, context);
    if (status != STATUS_OK && status != STATUS_ABORTED && !is_out_of_reach(status) &&
        queued->status == STATUS_OK) {
        Failure failure = failure_of_call(call, (Slice){0});
        failure.code = status == STATUS_RESOURCE_EXHAUSTED ? STATUS_FAILED_PRECONDITION : status;
        end_with(queued, &failure);
        status = write_end(queued, context);
    }
    if (status != STATUS_OK) {
        log_failure(LOG_WARNING, "the end of a queued step was not written", call);
    }
    queued->outcome.outputs = (StepTensors){0};
    queued->written = status;
}

static void
finish_on_job(Job *job, JobContext *context)
{
    end_alone((QueuedStep *)(void *)job, context);
}

static void finish_again(Timer *timer);

static void
finish_later(QueuedStep *queued)
{
    queued->again.fire = finish_again;
    timer_set(
        queued->step.loop->loop, &queued->again, clock_monotonic_ns() + FINISH_RETRY_MS * CLOCK_NS_PER_MS);
}

static void
settle_finish(QueuedStep *queued)
{
    if (is_out_of_reach(queued->written)) {
        finish_later(queued);
    } else {
        forget_step(queued); /* the end is written, or the step is another gateway's */
    }
}

static void
end_finished_step(Job *job)
{
    settle_finish((QueuedStep *)(void *)job);
}

static QueuedStep *
queued_step_of(BatchItem *item)
{
    return LIST_ITEM(item, QueuedStep, item);
}

static void
end_finished_item(BatchItem *item)
{
    settle_finish(queued_step_of(item));
}

static size_t
count_item_outputs(BatchItem *item)
{
    return output_count(queued_step_of(item));
}

static Status
describe_item_outputs(BatchItem *item, BlobPut *ret_blobs)
{
    return describe_outputs(queued_step_of(item), ret_blobs);
}

static Status
write_ends(Call *call, Store *store, BatchItem *const *items, size_t count)
{
    StepEnd *ends = arena_alloc(call->arena, count * sizeof *ends);
    if (ends == NULL) {
        return call_fail_memory(call, "a batch of steps");
    }
    for (size_t index = 0; index < count; index++) {
        const QueuedStep *queued = queued_step_of(items[index]);
        ends[index] = (StepEnd){.hold = &queued->hold, .outcome = &queued->outcome};
    }
    return queue_end_all(call, store, ends, count);
}

/* Ends a batch of steps. When it cannot be committed, each step is ended alone; also when the reply to the
 * commit was lost, since ending twice in the same way is one end. */
void
queued_steps_end(JobContext *context, BatchItem *const *items, size_t count)
{
    static const StepBatch batch = {
        .count_tensors = count_item_outputs, .describe = describe_item_outputs, .write_rows = write_ends};
    bool is_written = count > 1 && step_batch_commit(&batch, context, items, count) == STATUS_OK;
    for (size_t index = 0; index < count; index++) {
        QueuedStep *queued = queued_step_of(items[index]);
        queued->written = STATUS_OK;
        if (!is_written) {
            end_alone(queued, context);
        }
    }
}

static bool
finish_together(QueuedStep *queued)
{
    const StepLoop *loop = queued->step.loop;
    /* A heartbeat may find from now on that the step has ended: then there is nothing to cancel. */
    queue_runner_note(loop->steps->queue, &queued->hold, QUEUE_NO_LOOP, queued->may_repeat);
    queued->call.deadline_ns = clock_monotonic_ns() + FINISH_MS * CLOCK_NS_PER_MS;
    queued->item = (BatchItem){
        .loop = loop->loop,
        .tenant = queued->hold.tenant,
        .priority = queued->priority,
        .done = end_finished_item,
    };
    return batcher_put(loop->steps->ender, &queued->item);
}

/* Writes the end in a batch, or puts a step that failed in passing back into the queue. */
static void
finish_step(QueuedStep *queued)
{
    bool is_taken = is_passing(queued->status)
                        ? submit_job(queued, finish_on_job, end_finished_step, FINISH_MS)
                        : finish_together(queued);
    if (!is_taken) {
        finish_later(queued);
    }
}

/* A loop that closes has no job threads any more: the step's lease runs out, and another gateway ends it. */
static void
finish_again(Timer *timer)
{
    QueuedStep *queued = LIST_ITEM(timer, QueuedStep, again);
    if (!queued->step.loop->is_closing) {
        finish_step(queued);
    }
}

static void
run_admitted(void *context)
{
    QueuedStep *queued = context;
    queued->has_run = true;
    queue_runner_begin(queued->step.loop->steps->queue, &queued->hold, queued->may_repeat);
}

static void
run_output(void *context, uint32_t fetch, const Tensor *tensor)
{
    assert(fetch < ((const QueuedStep *)context)->step.plan->fetch_count);

    QueuedStep *queued = context;
    queued->step.outputs[fetch] = tensor_ref(tensor);
}

/* Outputs of a step for later are stored whole. */
static OutputWay
run_head(void *context, const OutputHead *head)
{
    QueuedStep *queued = context;
    return step_reply_take_whole(&queued->step, head);
}

static void
run_done(void *context, const StepReport *report)
{
    QueuedStep *queued = context;
    AUTO_BUFFER stats = {0};
    queued->step.running.run = NULL;
    list_remove(&queued->step.running.link);
    if (queued->step.loop->is_closing) {
        return; /* the runner has given it back; queued_steps_free() follows */
    }
    step_call_keep_trace(&queued->step, report);
    step_call_doubt_places(&queued->step, report);
    end_with(queued, &report->failure);
    step_write_stats(&stats, report);
    queued->outcome.stats = buffer_is_ok(&stats) ? text_copy(queued->call.arena, buffer_slice(&stats)) : NULL;
    finish_step(queued);
}

static void
dispatch_step(QueuedStep *queued)
{
    assert(queued->status == STATUS_OK && queued->step.plan != NULL);

    static const StepEvents events = {
        .on_admitted = run_admitted, .on_output = run_output, .on_head = run_head, .on_done = run_done};
    StepCall *step = &queued->step;
    StepRunOptions options;
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    step_call_describe(step, tenant, session, &options);
    options.deadline_ns = queued->deadline_ns;
    /* Attempts of an earlier lease may still be on the workers: this lease's have other numbers. */
    options.attempt_base = (queued->hold.fence - 1) * STEP_ATTEMPT_MAX;
    options.is_once = step_is_once(step);
    options.holder = queued->hold.fence;
    options.began_ns = queued->began_ns;
    queued->may_repeat = options.is_pure;
    queue_runner_note(step->loop->steps->queue, &queued->hold, step->loop->index, true);
    step->running = (RunningStep){
        .hold = queued->hold,
        .session = step->session_id,
        .graph = step->graph->id,
        .started_us = clock_wall_us(),
        .run = step_start(step->loop->dispatcher, &options, &events, queued),
    };
    if (step->running.run == NULL) {
        Failure failure = failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory is left for a step");
        end_with(queued, &failure);
        finish_step(queued);
        return;
    }
    running_steps_add(&step->loop->running, &step->running);
}

static Status
load_feeds(QueuedStep *queued, Store *store)
{
    StepCall *step = &queued->step;
    Call *call = &queued->call;
    StepTensors stored;
    TRY(steps_feeds(call, store, step->tenant, step->id, &stored));
    StepFeedText *feeds = arena_alloc(call->arena, (stored.count + 1) * sizeof *feeds);
    if (feeds == NULL) {
        return call_fail_memory(call, "the feeds of a step");
    }
    for (size_t index = 0; index < stored.count; index++) {
        TRY(tensor_get(call, store, step->tenant, &stored.items[index], &feeds[index].tensor));
        if (!step_call_keep(step, &feeds[index].tensor)) {
            return call_fail_memory(call, "the feeds of a step");
        }
        feeds[index].name = slice_from_string(stored.items[index].name);
    }
    step->body.feeds = feeds;
    step->body.feed_count = stored.count;
    return STATUS_OK;
}

/* Prepares by caches alone; when one misses, needs_long is set. */
static Status
prepare_step(QueuedStep *queued, JobContext *context)
{
    Call *call = &queued->call;
    Store *app = NULL;
    Store *queue = NULL;
    TRY(job_store(call, context, STORE_ROLE_QUEUE, &queue));
    TRY(job_store(call, context, STORE_ROLE_APP, &app));
    TRY(queue_start(call, queue, &queued->hold));
    TRY(step_call_read(&queued->step, queued->request));
    TRY(load_feeds(queued, app));
    return step_call_prepare(&queued->step, queued->request, NULL, &queued->needs_long);
}

static void
prepare_on_job(Job *job, JobContext *context)
{
    QueuedStep *queued = (QueuedStep *)(void *)job;
    queued->status = prepare_step(queued, context);
}

static void
prepare_at_length(Job *job, JobContext *context)
{
    QueuedStep *queued = (QueuedStep *)(void *)job;
    queued->status = step_call_prepare(&queued->step, queued->request, context, &queued->needs_long);
    queued->needs_long = false;
}

static bool
goes_on_at_length(QueuedStep *queued)
{
    if (queued->status != STATUS_OK || !queued->needs_long || queued->step.loop->is_closing) {
        return false;
    }
    bool is_taken = submit_job(queued, prepare_at_length, run_prepared_step, PREPARE_MS);
    if (!is_taken) {
        queued->status =
            call_fail(&queued->call, STATUS_UNAVAILABLE, "too many jobs wait for the job threads");
    }
    return is_taken;
}

static void
run_prepared_step(Job *job)
{
    QueuedStep *queued = (QueuedStep *)(void *)job;
    if (goes_on_at_length(queued)) {
        return;
    }
    list_append(&queued->step.loop->queued, &queued->link);
    if (queued->step.loop->is_closing) {
        return;
    }
    if (queued->status == STATUS_OK) {
        dispatch_step(queued);
    } else if (queued->status == STATUS_ABORTED) {
        forget_step(queued); /* cancelled or another gateway's before it began */
    } else {
        Failure failure = failure_of_call(&queued->call, (Slice){0});
        failure.code = queued->status;
        end_with(queued, &failure);
        finish_step(queued);
    }
}
