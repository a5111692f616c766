/* A look-up is a chain of jobs and waits. A job sets `next` to what the loop does behind it: finish, pause,
 * wait for records, wait for another gateway's answer. A wait sets `leave`, by which a client that hangs up
 * ends it at once; while a job or another loop has the look-up, the client's end is only noted. */
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
    FLUSH_MAX_MS = 1000,  /* the wait for records to be written; without them the others are asked */
    WAIT_GRACE_MS = 5000, /* added to the request's deadline for the last look */
};

static void wait_for_records(StepLookup *lookup);
static void wait_for_answer(StepLookup *lookup);
static void wait_for_next_look(StepLookup *lookup);

static bool
may_wait(const StepLookup *lookup)
{
    const Steps *steps = lookup->inquiry.home->steps;
    return clock_monotonic_ns() < lookup->until_ns && !replica_is_draining(steps->replica);
}

static void
finish_lookup(StepLookup *lookup)
{
    exchange_finish(lookup->exchange);
}

static void
fail_gone(const StepLookup *lookup)
{
    exchange_fail(lookup->exchange,
        call_fail(exchange_call(lookup->exchange), STATUS_CANCELLED, "nobody waits any more"));
}

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

/* Goes on when the database does not know the step: after this gateway's records, the other gateways, of
 * which one may have written the record meanwhile. `missing` is the failure to tell in the end. */
static Status
look_elsewhere(Call *call, Store *store, StepLookup *lookup, Status missing)
{
    const StepInquiry *inquiry = &lookup->inquiry;
    if (!lookup->has_flushed) {
        lookup->next = wait_for_records;
        return STATUS_OK;
    }
    bool may_know = false;
    TRY(lookup->has_asked ? STATUS_OK : replica_mail_may_know(call, lookup->mail, store, inquiry, &may_know));
    if (!may_know) {
        return missing;
    }
    Status status = replica_mail_ask(
        call, lookup->mail, store, inquiry, inquiry->is_cancel ? "cancel" : "get", &lookup->question);
    if (status == STATUS_RESOURCE_EXHAUSTED && may_wait(lookup)) {
        lookup->next = wait_for_next_look;
        return STATUS_OK;
    }
    lookup->next = wait_for_answer;
    return status;
}

static Status
find_and_answer(Call *call, Store *store, StepLookup *lookup)
{
    StepRecord step;
    Status status = find_in_session(call, store, &lookup->inquiry, &step);
    if (status == STATUS_NOT_FOUND) {
        return look_elsewhere(call, store, lookup, status);
    }
    TRY(status);
    lookup->next = finish_lookup;
    TRY(lookup->answer(call, store, lookup, &step));
    if (lookup->next == finish_lookup) {
        exchange_render(lookup->exchange);
    }
    return STATUS_OK;
}

/* Looks with an arena of its own, since one request may look many times. Sets `next` unless the step can be
 * answered with now. */
static Status
look_whether_ended(Call *call, Store *store, StepLookup *lookup)
{
    AUTO_ARENA arena = arena_new(LOOK_ARENA_SIZE_MAX);
    Call look = {.arena = arena, .deadline_ns = call->deadline_ns};
    StepRecord step;
    if (arena == NULL) {
        return call_fail_memory(call, "a look at a step");
    }
    Status status = find_in_session(&look, store, &lookup->inquiry, &step);
    if (status == STATUS_NOT_FOUND) {
        status = look_elsewhere(&look, store, lookup, status);
    } else if (status == STATUS_OK && !step_state_is_ended(step.state) && may_wait(lookup)) {
        lookup->next = wait_for_next_look;
    }
    return status == STATUS_OK ? STATUS_OK : call_fail(call, status, "%s", look.error.message);
}

static Status
look_on_job(Call *call, JobContext *job_context, void *owner)
{
    StepLookup *lookup = owner;
    Store *store = NULL;
    lookup->next = NULL;
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    if (lookup->until_ns > 0) {
        TRY(look_whether_ended(call, store, lookup));
    }
    return lookup->next != NULL ? STATUS_OK : find_and_answer(call, store, lookup);
}

static void
go_on_from_job(Exchange *exchange, Status status, void *owner)
{
    StepLookup *lookup = owner;
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else {
        lookup->next(lookup);
    }
}

static void
begin_job(StepLookup *lookup, ExchangeWork work)
{
    if (!exchange_offload(lookup->exchange, work, go_on_from_job, lookup)) {
        exchange_fail(lookup->exchange, exchange_note_overload(lookup->exchange));
    }
}

/* Answers with a running step that the database does not know, unless the answer waits for its end. */
static void
answer_running(StepLookup *lookup)
{
    Call *call = exchange_call(lookup->exchange);
    if (may_wait(lookup)) {
        wait_for_next_look(lookup);
        return;
    }
    Status status = lookup->answer(call, NULL, lookup, &lookup->inquiry.record);
    if (status == STATUS_OK) {
        finish_lookup(lookup);
    } else {
        exchange_fail(lookup->exchange, status);
    }
}

/* Begins a wait that `leave` ends. The client may have gone while a job had the look-up. */
static void
begin_wait(StepLookup *lookup, bool (*leave)(StepLookup *lookup))
{
    lookup->leave = leave;
    if (lookup->is_gone && leave(lookup)) {
        fail_gone(lookup);
    }
}

/* Returns whether somebody still wants the answer; else ends the exchange. */
static bool
end_wait(StepLookup *lookup)
{
    lookup->leave = NULL;
    if (lookup->is_gone) {
        fail_gone(lookup);
    }
    return !lookup->is_gone;
}

static void
client_gone(Exchange *exchange, void *owner)
{
    (void)exchange;
    StepLookup *lookup = owner;
    lookup->is_gone = true;
    if (lookup->leave != NULL && lookup->leave(lookup)) {
        fail_gone(lookup);
    }
}

static bool
leave_pause(StepLookup *lookup)
{
    timer_clear(lookup->inquiry.home->loop, &lookup->timer);
    return true;
}

static void
look_again(Timer *timer)
{
    StepLookup *lookup = LIST_ITEM(timer, StepLookup, timer);
    lookup->leave = NULL;
    lookup->has_flushed = false;
    lookup->has_asked = false;
    step_inquire(&lookup->inquiry);
}

/* Plans the next look: the pause grows with the time waited, so that the end of a step of one second is
 * told at most 60 ms late. */
static void
wait_for_next_look(StepLookup *lookup)
{
    enum { SHARE = 16 };
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t pause_ns = (now_ns - lookup->began_ns) / SHARE;
    pause_ns =
        pause_ns < LOOK_PAUSE_MAX_MS * CLOCK_NS_PER_MS ? pause_ns : LOOK_PAUSE_MAX_MS * CLOCK_NS_PER_MS;
    pause_ns =
        pause_ns > LOOK_PAUSE_MIN_MS * CLOCK_NS_PER_MS ? pause_ns : LOOK_PAUSE_MIN_MS * CLOCK_NS_PER_MS;
    uint64_t due_ns = now_ns + pause_ns;
    lookup->timer.fire = look_again;
    timer_set(
        lookup->inquiry.home->loop, &lookup->timer, due_ns < lookup->until_ns ? due_ns : lookup->until_ns);
    begin_wait(lookup, leave_pause);
}

static bool
leave_flush(StepLookup *lookup)
{
    timer_clear(lookup->inquiry.home->loop, &lookup->timer);
    return recorder_flush_leave(lookup->inquiry.home->steps->recorder, &lookup->flush);
}

static void
go_on_flushed(RecordFlush *flush)
{
    StepLookup *lookup = LIST_ITEM(flush, StepLookup, flush);
    timer_clear(lookup->inquiry.home->loop, &lookup->timer);
    if (end_wait(lookup)) {
        begin_job(lookup, look_on_job);
    }
}

static void
go_on_unflushed(Timer *timer)
{
    StepLookup *lookup = LIST_ITEM(timer, StepLookup, timer);
    if (recorder_flush_leave(lookup->inquiry.home->steps->recorder, &lookup->flush)) {
        go_on_flushed(&lookup->flush);
    }
}

static void
wait_for_records(StepLookup *lookup)
{
    const StepLoop *home = lookup->inquiry.home;
    lookup->has_flushed = true;
    lookup->flush = (RecordFlush){.loop = home->loop, .flushed = go_on_flushed};
    recorder_flush(home->steps->recorder, &lookup->flush);
    lookup->timer.fire = go_on_unflushed;
    timer_set(home->loop, &lookup->timer, clock_monotonic_ns() + FLUSH_MAX_MS * CLOCK_NS_PER_MS);
    begin_wait(lookup, leave_flush);
}

static bool
leave_question(StepLookup *lookup)
{
    return asked_question_leave(&lookup->question);
}

static Status
hear_on_job(Call *call, JobContext *job_context, void *owner)
{
    StepLookup *lookup = owner;
    Store *store = NULL;
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    TRY(lookup->heard(call, store, lookup));
    lookup->next = finish_lookup;
    exchange_render(lookup->exchange);
    return STATUS_OK;
}

static void
go_on_heard(AskedQuestion *question)
{
    StepLookup *lookup = LIST_ITEM(question, StepLookup, question);
    StepInquiry *inquiry = &lookup->inquiry;
    if (!end_wait(lookup)) {
        return;
    }
    if (lookup->heard != NULL) {
        begin_job(lookup, hear_on_job);
    } else if (replica_mail_read_step(lookup->mail, inquiry, question, &inquiry->record)) {
        answer_running(lookup);
    } else {
        lookup->has_asked = true;
        begin_job(lookup, look_on_job);
    }
}

static void
wait_for_answer(StepLookup *lookup)
{
    if (asked_question_await(&lookup->question, go_on_heard)) {
        begin_wait(lookup, leave_question);
    } else {
        go_on_heard(&lookup->question);
    }
}

static void
go_on_inquired(StepInquiry *inquiry)
{
    StepLookup *lookup = (StepLookup *)(void *)inquiry;
    if (!end_wait(lookup)) {
        return;
    }
    if (inquiry->is_found) {
        answer_running(lookup);
    } else {
        begin_job(lookup, look_on_job);
    }
}

Status
step_lookup_ask(Call *call, Store *store, StepLookup *lookup, const char *verb, StepLookupHeard heard)
{
    assert(store != NULL && heard != NULL);

    bool has_others = false;
    TRY(replica_mail_has_others(call, lookup->mail, store, &has_others));
    if (!has_others) {
        lookup->question = (AskedQuestion){0};
        return heard(call, store, lookup);
    }
    TRY(replica_mail_ask(call, lookup->mail, store, &lookup->inquiry, verb, &lookup->question));
    lookup->heard = heard;
    lookup->next = wait_for_answer;
    return STATUS_OK;
}

Status
step_answer(Call *call, Store *store, StepLookup *lookup, const StepRecord *step)
{
    StepTensors outputs = {0};
    if (step->is_async && step->state == STEP_SUCCEEDED) {
        TRY(steps_outputs(call, store, step->tenant, step->id, &outputs));
    }
    step_write_document(exchange_response(lookup->exchange), step, &outputs);
    return STATUS_OK;
}

static void
wait_at_most(StepLookup *lookup, uint64_t wait_ms)
{
    if (wait_ms > 0) {
        lookup->began_ns = clock_monotonic_ns();
        lookup->until_ns = lookup->began_ns + wait_ms * CLOCK_NS_PER_MS;
        exchange_deadline(lookup->exchange, lookup->until_ns + WAIT_GRACE_MS * CLOCK_NS_PER_MS);
    }
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

static void
begin_looking(StepLookup *lookup, Exchange *exchange, StepLookupAnswer answer)
{
    lookup->exchange = exchange;
    lookup->answer = answer;
    lookup->inquiry.answered = go_on_inquired;
    exchange_on_cancel(exchange, client_gone, lookup);
    step_inquire(&lookup->inquiry);
}

static StepLookup *
lookup_new(Exchange *exchange, ReplicaMail *mail, StepLoop *home)
{
    assert(mail != NULL && home != NULL);

    Call *call = exchange_call(exchange);
    StepLookup *lookup = arena_alloc(call->arena, sizeof *lookup);
    Status status = lookup == NULL ? call_fail_memory(call, "a look at a step")
                                   : step_lookup_read(call, exchange_request(exchange), mail, home, lookup);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
        return NULL;
    }
    return lookup;
}

void
step_look_up(Exchange *exchange, ReplicaMail *mail, StepLoop *home, bool is_cancel, StepLookupAnswer answer)
{
    StepLookup *lookup = lookup_new(exchange, mail, home);
    if (lookup != NULL) {
        lookup->inquiry.is_cancel = is_cancel;
        begin_looking(lookup, exchange, answer);
    }
}

void
step_look_up_end(Exchange *exchange, ReplicaMail *mail, StepLoop *home, StepLookupAnswer answer)
{
    uint64_t wait_ms = step_wait_read(exchange_request(exchange), home->steps->limits);
    StepLookup *lookup = lookup_new(exchange, mail, home);
    if (lookup == NULL) {
        return;
    }
    if (wait_ms > 0) {
        response_header_format(exchange_response(exchange), "Preference-Applied", "wait=%llu",
            (unsigned long long)(wait_ms / 1000));
    }
    lookup->exchange = exchange;
    wait_at_most(lookup, wait_ms);
    begin_looking(lookup, exchange, answer);
}

/* Replaces the 202 in the response by the step's end, if it has come. */
static Status
answer_end(Call *call, Store *store, StepLookup *lookup, const StepRecord *step)
{
    Response *response = exchange_response(lookup->exchange);
    if (!step_state_is_ended(step->state)) {
        return STATUS_OK;
    }
    response_status(response, 200);
    response_header_remove(response, "Retry-After");
    return step_answer(call, store, lookup, step);
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
    };
    wait_at_most(lookup, wait_ms);
    begin_looking(lookup, exchange, answer_end);
}
