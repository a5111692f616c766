#include "gateway/replicas/step_lookup.h"

#include <assert.h>

#include "gateway/http/exchange.h"
#include "gateway/jobs/job_context.h"
#include "gateway/resources/resource.h"
#include "gateway/steps/step_json.h"
#include "gateway/steps/step_promise.h"
#include "shared/base/clock.h"

enum {
    LOOK_PAUSE_MIN_MS = 10,
    LOOK_PAUSE_MAX_MS = 1000,
    LOOK_ARENA_SIZE_MAX = 4 << 20,
    WAIT_GRACE_MS = 5000, /* added to the request's deadline for the last look */
};

static Status
find_in_session(Call *call, Store *store, const StepInquiry *inquiry, StepRecord *ret_step)
{
    StepRecord step;
    TRY(steps_find(call, store, inquiry->tenant, inquiry->id, &step));
    if (!uuid_equal(step.session.value, inquiry->session.value)) {
        char text[ID_TEXT_SIZE];
        id_to_text("stp", inquiry->id.value, text);
        return call_fail(call, STATUS_NOT_FOUND, "step '%s' does not exist", text);
    }
    *ret_step = step;
    return STATUS_OK;
}

/* Writes the records that are under way. A failure does not touch the call's error. */
static bool
flush_records(const Call *call, const Steps *steps)
{
    Call flushing = {.arena = call->arena, .deadline_ns = call->deadline_ns};
    return recorder_flush(&flushing, steps->recorder) == STATUS_OK;
}

/* Reads the database, then again after writing this gateway's own records, then asks the other gateways,
 * then reads once more, as one of them may have written the record meanwhile. */
Status
step_lookup_stored(Call *call, Store *store, const StepLookup *lookup, StepRecord *ret_step)
{
    const StepInquiry *inquiry = &lookup->inquiry;
    bool is_found = false;
    Status status = find_in_session(call, store, inquiry, ret_step);
    if (status == STATUS_NOT_FOUND && flush_records(call, inquiry->home->steps)) {
        status = find_in_session(call, store, inquiry, ret_step);
    }
    if (status != STATUS_NOT_FOUND) {
        return status;
    }
    TRY(replica_mail_ask_step(call, lookup->mail, store, inquiry, &is_found, ret_step));
    return is_found ? STATUS_OK : find_in_session(call, store, inquiry, ret_step);
}

Status
step_answer_stored(Call *call, Store *store, const StepLookup *lookup)
{
    StepRecord step;
    StepTensors outputs = {0};
    TRY(step_lookup_stored(call, store, lookup, &step));
    if (step.is_async && step.state == STEP_SUCCEEDED) {
        TRY(steps_outputs(call, store, step.tenant, step.id, &outputs));
    }
    step_write_document(exchange_response(lookup->exchange), &step, &outputs);
    return STATUS_OK;
}

static bool
may_wait(const StepLookup *lookup)
{
    const Steps *steps = lookup->inquiry.home->steps;
    return clock_monotonic_ns() < lookup->until_ns && !replica_is_draining(steps->replica);
}

/* Looks with an arena of its own, since one request may look many times. */
static Status
look_whether_ended(Call *call, Store *store, const StepLookup *lookup, bool *ret_has_ended)
{
    AUTO_ARENA arena = arena_new(LOOK_ARENA_SIZE_MAX);
    Call look = {.arena = arena, .deadline_ns = call->deadline_ns};
    StepRecord step;
    if (arena == NULL) {
        return call_fail_memory(call, "a look at a step");
    }
    Status status = step_lookup_stored(&look, store, lookup, &step);
    if (status != STATUS_OK) {
        return call_fail(call, status, "%s", look.error.message);
    }
    *ret_has_ended = step_state_is_ended(step.state);
    return STATUS_OK;
}

static Status
look_on_job(Call *call, JobContext *job_context, void *owner)
{
    StepLookup *lookup = owner;
    Store *store = NULL;
    bool has_ended = false;
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    if (lookup->until_ns > 0) {
        TRY(look_whether_ended(call, store, lookup, &has_ended));
    }
    lookup->goes_on = !has_ended && may_wait(lookup);
    return lookup->goes_on ? STATUS_OK : lookup->stored(call, store, lookup);
}

static void
look_again(Timer *timer)
{
    StepLookup *lookup = LIST_ITEM(timer, StepLookup, again);
    step_inquire(&lookup->inquiry);
}

static void
fail_gone(const StepLookup *lookup)
{
    exchange_fail(lookup->exchange,
        call_fail(exchange_call(lookup->exchange), STATUS_CANCELLED, "nobody waits any more"));
}

/* Ends the exchange if no look is under way; otherwise pause_look() will. */
static void
client_gone(Exchange *exchange, void *owner)
{
    (void)exchange;
    StepLookup *lookup = owner;
    lookup->is_gone = true;
    if (lookup->again.due_ns != 0) {
        timer_clear(lookup->inquiry.home->loop, &lookup->again);
        fail_gone(lookup);
    }
}

/* Plans the next look: the pause grows with the time waited, so that the end of a step of one second is
 * told at most 60 ms late. */
static void
pause_look(StepLookup *lookup)
{
    enum { SHARE = 16 };
    if (lookup->is_gone) {
        fail_gone(lookup);
        return;
    }
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t pause_ns = (now_ns - lookup->began_ns) / SHARE;
    pause_ns =
        pause_ns < LOOK_PAUSE_MAX_MS * CLOCK_NS_PER_MS ? pause_ns : LOOK_PAUSE_MAX_MS * CLOCK_NS_PER_MS;
    pause_ns =
        pause_ns > LOOK_PAUSE_MIN_MS * CLOCK_NS_PER_MS ? pause_ns : LOOK_PAUSE_MIN_MS * CLOCK_NS_PER_MS;
    uint64_t due_ns = now_ns + pause_ns;
    lookup->again.fire = look_again;
    timer_set(
        lookup->inquiry.home->loop, &lookup->again, due_ns < lookup->until_ns ? due_ns : lookup->until_ns);
}

static void
looked_on_job(Exchange *exchange, Status status, void *owner)
{
    StepLookup *lookup = owner;
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (lookup->goes_on) {
        pause_look(lookup);
    } else {
        exchange_finish(exchange);
    }
}

static void
go_on_answered(StepInquiry *inquiry)
{
    StepLookup *lookup = (StepLookup *)(void *)inquiry;
    Exchange *exchange = lookup->exchange;
    if (inquiry->is_found && may_wait(lookup)) {
        pause_look(lookup);
    } else if (inquiry->is_found) {
        step_write_document(exchange_response(exchange), &inquiry->record, NULL);
        exchange_finish(exchange);
    } else if (!exchange_offload(exchange, look_on_job, looked_on_job, lookup)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}

static void
wait_at_most(StepLookup *lookup, uint64_t wait_ms)
{
    if (wait_ms == 0) {
        return;
    }
    lookup->began_ns = clock_monotonic_ns();
    lookup->until_ns = lookup->began_ns + wait_ms * CLOCK_NS_PER_MS;
    exchange_deadline(lookup->exchange, lookup->until_ns + WAIT_GRACE_MS * CLOCK_NS_PER_MS);
    exchange_on_cancel(lookup->exchange, client_gone, lookup);
}

Status
step_lookup_read(
    Call *call, const Request *request, ReplicaMail *mail, StepLoop *home, StepLookup *ret_lookup)
{
    StepInquiry inquiry = {.home = home, .tenant = request->principal.tenant};
    TRY(session_id_read(call, request, &inquiry.session));
    TRY(step_id_read(call, request, &inquiry.id));
    *ret_lookup = (StepLookup){.inquiry = inquiry, .mail = mail};
    return STATUS_OK;
}

static Status
begin_lookup(
    Exchange *exchange, ReplicaMail *mail, StepLoop *home, StepLookupStored stored, StepLookup **ret_lookup)
{
    assert(mail != NULL && home != NULL && stored != NULL);

    Call *call = exchange_call(exchange);
    StepLookup *lookup = arena_alloc(call->arena, sizeof *lookup);
    if (lookup == NULL) {
        return call_fail_memory(call, "a look at a step");
    }
    TRY(step_lookup_read(call, exchange_request(exchange), mail, home, lookup));
    lookup->exchange = exchange;
    lookup->stored = stored;
    lookup->inquiry.answered = go_on_answered;
    *ret_lookup = lookup;
    return STATUS_OK;
}

void
step_look_up(Exchange *exchange, ReplicaMail *mail, StepLoop *home, bool is_cancel, StepLookupStored stored)
{
    StepLookup *lookup = NULL;
    Status status = begin_lookup(exchange, mail, home, stored, &lookup);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
        return;
    }
    lookup->inquiry.is_cancel = is_cancel;
    step_inquire(&lookup->inquiry);
}

void
step_look_up_end(Exchange *exchange, ReplicaMail *mail, StepLoop *home, StepLookupStored stored)
{
    StepLookup *lookup = NULL;
    uint64_t wait_ms = step_wait_read(exchange_request(exchange), home->steps->limits);
    Status status = begin_lookup(exchange, mail, home, stored, &lookup);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
        return;
    }
    if (wait_ms > 0) {
        response_header_format(exchange_response(exchange), "Preference-Applied", "wait=%llu",
            (unsigned long long)(wait_ms / 1000));
    }
    wait_at_most(lookup, wait_ms);
    step_inquire(&lookup->inquiry);
}

/* Replaces the 202 in the response by the step's end, if it has come. */
static Status
answer_end(Call *call, Store *store, const StepLookup *lookup)
{
    StepRecord step;
    Response *response = exchange_response(lookup->exchange);
    TRY(step_lookup_stored(call, store, lookup, &step));
    if (!step_state_is_ended(step.state)) {
        return STATUS_OK;
    }
    response_status(response, 200);
    response_header_remove(response, "Retry-After");
    return step_answer_stored(call, store, lookup);
}

void
step_await(
    Exchange *exchange, ReplicaMail *mail, StepLoop *home, SessionId session, StepId id, uint64_t wait_ms)
{
    const Request *request = exchange_request(exchange);
    StepLookup *lookup = arena_alloc(exchange_call(exchange)->arena, sizeof *lookup);
    if (lookup == NULL) {
        exchange_finish(exchange);
        return;
    }
    *lookup = (StepLookup){
        .inquiry = {.home = home, .tenant = request->principal.tenant, .session = session, .id = id},
        .exchange = exchange,
        .mail = mail,
        .stored = answer_end,
    };
    lookup->inquiry.answered = go_on_answered;
    wait_at_most(lookup, wait_ms);
    step_inquire(&lookup->inquiry);
}
