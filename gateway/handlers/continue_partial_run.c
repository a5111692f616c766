/* continuePartialRun: gives a partial run some of its feeds and answers with some of its fetches.
 *
 * Happy path: the run's graph is looked up → the body is read, its tensors by the graph's dtypes (on a job
 * thread when they are large, or kept in the store) → the visit goes to the run's loop and comes back when
 * the fetches are there (partial_visit.h). */
#include "gateway/handlers/step_form.h"
#include "gateway/http/exchange.h"
#include "gateway/partials/partial_visit.h"
#include "gateway/steps/step_call.h"

enum { LOOP_BODY_SIZE_MAX = 256 * 1024, BODY_SIZE_MAX = 64 << 20 };

static Status
read_request(const PartialVisit *visit, JobContext *context, bool *ret_needs_job)
{
    StepCall *step = visit->step;
    TRY(step_call_read(step, step_call_json(step)));
    TRY(partial_visit_check_feeds(visit));
    return step_feeds_take(step, context, ret_needs_job);
}

static Status
read_on_job(Call *call, JobContext *job_context, void *owner)
{
    (void)call;
    bool needs_job = false;
    return read_request(owner, job_context, &needs_job);
}

static void
read_is_done(Exchange *exchange, Status status, void *owner)
{
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else {
        partial_visit_send(owner);
    }
}

static Status
begin_visit(Exchange *exchange, PartialVisit **ret_visit, bool *ret_needs_job)
{
    PartialVisit *visit = NULL;
    TRY(partial_visit_begin(exchange, exchange_request(exchange)->parts->partials, &visit));
    StepCall *step = visit->step;
    visit->act = partial_visit_continue;
    visit->answer = partial_visit_answer;
    *ret_visit = visit;
    if (step->upload != NULL) {
        TRY(step_upload_end(step->call, step->upload));
    }
    *ret_needs_job = step_call_json(step).size > LOOP_BODY_SIZE_MAX;
    return *ret_needs_job ? STATUS_OK : read_request(visit, NULL, ret_needs_job);
}

static void
start_continue_partial_run(Exchange *exchange)
{
    PartialVisit *visit = NULL;
    bool needs_job = false;
    Status status = begin_visit(exchange, &visit, &needs_job);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (!needs_job) {
        partial_visit_send(visit);
    } else if (!exchange_offload(exchange, read_on_job, read_is_done, visit)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}

HANDLER(continue_partial_run) = {
    .operation_id = "continuePartialRun",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/partial-runs/{run}:continue",
    .access = ACCESS_TENANT,
    .body_size_max = BODY_SIZE_MAX,
    .body_types = step_form_types,
    .start = start_continue_partial_run,
    .sink = step_form_sink,
};
