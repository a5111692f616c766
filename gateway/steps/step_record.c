#include "gateway/steps/step_record.h"

#include <assert.h>

#include "gateway/jobs/job_context.h"
#include "gateway/steps/step_json.h"
#include "gateway/steps/step_promise.h"
#include "gateway/steps/step_reply.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

static void
send_reply(StepCall *step)
{
    StepReport report = step->reply.report;
    step_reply_end(step, &report);
}

static void
record_taken(RecordWait *wait)
{
    StepCall *step = LIST_ITEM(wait, StepCall, record_wait);
    if (!step->reply.has_begun) {
        exchange_on_cancel(step->exchange, NULL, NULL);
    }
    send_reply(step);
}

/* Sends the reply without waiting any longer, as the client has gone or its time is over. */
static void
record_abandon(Exchange *exchange, void *owner)
{
    (void)exchange;
    StepCall *step = owner;
    recorder_abandon(step->loop->records, &step->record_wait);
    send_reply(step);
}

static StepRecord *
make_record(StepCall *step, const StepReport *report)
{
    Buffer *scratch = &step->loop->scratch;
    buffer_clear(scratch);
    step_write_request(scratch, &step->body, step->graph->id_text);
    buffer_append_byte(scratch, '\0');
    size_t stats = scratch->size;
    step_write_stats(scratch, report);
    if (buffer_string(scratch) == NULL) {
        return NULL;
    }
    StepRecord record = {
        .tenant = step->tenant,
        .id = step->id,
        .session = step->session_id,
        .graph = step->graph->id,
        .state = step_state_of(report->failure.code),
        .request = scratch->data,
        .attempts = report->attempt,
        .started_us = step->received_us,
        .ended_us = clock_wall_us(),
        .error_code = report->failure.code == STATUS_OK ? "" : status_name(report->failure.code),
        .error_message = report->failure.message,
        .error_node = report->failure.node,
        .stats = scratch->data + stats,
    };
    return record_copy(&record);
}

static void
record_behind(StepCall *step, const StepReport *report)
{
    step->record_wait = (RecordWait){.record = make_record(step, report), .taken = record_taken};
    if (step->record_wait.record == NULL) {
        recorder_note_lost();
        step_reply_end(step, report);
    } else if (recorder_put(step->loop->records, &step->record_wait)) {
        step_reply_end(step, report);
    } else {
        step_call_keep_report(step, report);
        if (!step->reply.has_begun) {
            exchange_on_cancel(step->exchange, record_abandon, step);
        }
    }
}

static Status
keep_on_job(Call *call, JobContext *job_context, void *owner)
{
    Store *store = NULL;
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    return step_promise_keep(owner, store);
}

/* Fails a step that succeeded when its record, which was promised, is not known to be committed. */
static void
kept_on_job(Exchange *exchange, Status status, void *owner)
{
    StepCall *step = owner;
    StepReport *report = &step->reply.report;
    (void)exchange;
    memory_free(TAKE(step->record_wait.record));
    queue_runner_forget(step->loop->steps->queue, &step->promise.hold);
    if (status != STATUS_OK && report->failure.code == STATUS_OK) {
        report->failure = failure_of_call(step->call, (Slice){0});
        report->failure.code = status;
    }
    send_reply(step);
}

static void
record_before(StepCall *step, const StepReport *report)
{
    step_call_keep_report(step, report);
    step->record_wait.record = make_record(step, report);
    if (step->record_wait.record == NULL) {
        kept_on_job(step->exchange, call_fail_memory(step->call, "the record of a step"), step);
    } else if (!exchange_offload(step->exchange, keep_on_job, kept_on_job, step)) {
        kept_on_job(step->exchange, exchange_note_overload(step->exchange), step);
    }
}

static void
record_step(StepCall *step, const StepReport *report)
{
    if (step->promise.hold.fence == 0) {
        record_behind(step, report);
    } else {
        record_before(step, report);
    }
}

static void
record_rested(StepCall *step)
{
    StepReport report = step->reply.report;
    record_step(step, &report);
}

/* Text that is still to be written of a reply that has begun comes first, as a job thread may be at it. */
void
step_record_end(StepCall *step, const StepReport *report)
{
    assert(step->exchange != NULL && step->plan != NULL && step->running.run == NULL);

    step_call_keep_trace(step, report);
    step_call_doubt_places(step, report);
    if (step_reply_is_busy(step)) {
        step_call_keep_report(step, report);
        step->reply.rested = record_rested;
    } else {
        record_step(step, report);
    }
}
