#include "gateway/partials/partial_visit.h"

#include <assert.h>

#include "gateway/resources/resource.h"
#include "gateway/steps/step_forms.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { REPLY_GRACE_MS = 1000 };

static void
end_at_home(PartialVisit *visit)
{
    Exchange *exchange = visit->step->exchange;
    exchange_on_cancel(exchange, NULL, NULL);
    if (visit->status != STATUS_OK) {
        exchange_fail(exchange, visit->status);
    } else {
        visit->answer(visit);
    }
}

static void
write_members(JsonWriter *writer, const void *context)
{
    const PartialVisit *visit = context;
    partial_view_write(writer, &visit->view);
}

void
partial_visit_show(PartialVisit *visit)
{
    Exchange *exchange = visit->step->exchange;
    JsonWriter writer = json_writer(response_json(exchange_response(exchange)));
    json_write_object_begin(&writer);
    write_members(&writer, visit);
    json_write_object_end(&writer);
    exchange_finish(exchange);
}

void
partial_visit_answer(PartialVisit *visit)
{
    step_answer_outputs(visit->step, write_members, visit);
}

static void
come_home(Task *task)
{
    end_at_home((PartialVisit *)(void *)task);
}

/* Sends the visit home, where it may end at once: the caller must not touch it any more. */
static void
send_home(PartialVisit *visit, Status status)
{
    visit->status = status;
    if (visit->asked == visit->home) {
        end_at_home(visit);
    } else {
        visit->task.run = come_home;
        loop_post(visit->step->loop->loop, &visit->task);
    }
}

static void
answer_visit(PartialVisit *visit, const PartialRun *run, Status status)
{
    send_home(visit, status != STATUS_OK ? status : partial_run_view(visit->step->call, run, &visit->view));
}

static void
visit_run(PartialVisit *visit)
{
    PartialRun *run = partial_run_find(visit->asked->table, &visit->key);
    if (run == NULL) {
        send_home(visit, call_fail(visit->step->call, STATUS_NOT_FOUND, "the partial run has just ended"));
        return;
    }
    Status status = visit->act(visit, run);
    if (status == STATUS_OK && visit->waits) {
        list_append(&run->waiters, &visit->waiter.link);
    } else {
        answer_visit(visit, run, status);
    }
    partial_run_settle(run);
}

static void
arrive_at_run(Task *task)
{
    visit_run((PartialVisit *)(void *)task);
}

/* Names the visit instead of pointing to it, as the visit may be on its way home or gone. */
typedef struct Withdrawal {
    Task task; /* first */
    PartialLoop *asked;
    PartialKey key;
    uint64_t number;
} Withdrawal;

static void
take_back(PartialVisit *visit, PartialRun *run)
{
    const StepCall *step = visit->step;
    list_remove(&visit->waiter.link);
    partial_run_put_back(run, step->reply.fetches, step->body.fetch_count);
    answer_visit(visit, run, call_fail(step->call, STATUS_CANCELLED, "nobody waits any more"));
}

static void
withdraw_visit(Task *task)
{
    Withdrawal *withdrawal = (Withdrawal *)(void *)task;
    PartialRun *run = partial_run_find(withdrawal->asked->table, &withdrawal->key);
    if (run != NULL) {
        LIST_EACH(&run->waiters, link)
        {
            PartialVisit *visit = LIST_ITEM(link, PartialVisit, waiter.link);
            if (visit->number == withdrawal->number) {
                take_back(visit, run);
            }
        }
        partial_run_settle(run);
    }
    memory_free(withdrawal);
}

static void
client_gone(Exchange *exchange, void *owner)
{
    const PartialVisit *visit = owner;
    Withdrawal *withdrawal = memory_new(1, sizeof *withdrawal);
    (void)exchange;
    if (withdrawal == NULL) {
        return; /* it waits until the run's own time is over */
    }
    *withdrawal = (Withdrawal){.asked = visit->asked, .key = visit->key, .number = visit->number};
    withdrawal->task.run = withdraw_visit;
    loop_post(visit->asked->steps->loop, &withdrawal->task);
}

static bool
have_come(const PartialVisit *visit, const PartialRun *run)
{
    const StepCall *step = visit->step;
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        if (!run->fetches[step->reply.fetches[index]].has_come) {
            return false;
        }
    }
    return true;
}

static bool
visit_is_ready(PartialWaiter *waiter, const PartialRun *run)
{
    const PartialVisit *visit = LIST_ITEM(waiter, PartialVisit, waiter);
    return run->has_ended || (have_come(visit, run) && !visit->awaits_end);
}

/* Ends the run when a fetch has no value, because it lies on a branch that was not taken. */
static Status
check_alive(const PartialVisit *visit, PartialRun *run)
{
    const StepCall *step = visit->step;
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        if (run->fetches[step->reply.fetches[index]].is_dead) {
            Status status = call_fail(step->call, STATUS_INVALID_ARGUMENT,
                "fetch '%.*s' has no value: it lies on a branch that was not taken",
                SLICE_PRINT(step->body.fetches[index]));
            partial_run_fail(run, status, step->call->error.message);
            return status;
        }
    }
    return STATUS_OK;
}

static Status
hand_out(const PartialVisit *visit, PartialRun *run)
{
    const StepCall *step = visit->step;
    TRY(check_alive(visit, run));
    partial_run_hand_out(run, step->reply.fetches, step->body.fetch_count, visit->step);
    return STATUS_OK;
}

static void
serve_visit(PartialWaiter *waiter, PartialRun *run)
{
    PartialVisit *visit = LIST_ITEM(waiter, PartialVisit, waiter);
    bool has_failed = run->has_ended && run->status != STATUS_OK;
    Status status =
        has_failed ? call_fail(visit->step->call, run->status, "%s", run->message) : hand_out(visit, run);
    run->is_told = run->is_told || status != STATUS_OK;
    answer_visit(visit, run, status);
}

static Status
read_key(Call *call, const Request *request, PartialKey *ret_key)
{
    Slice text = request_parameter(request, "run");
    ret_key->tenant = request->principal.tenant;
    TRY(session_id_read(call, request, &ret_key->session));
    return id_from_text("prt", text, &ret_key->id.value)
               ? STATUS_OK
               : call_fail(call, STATUS_NOT_FOUND, "partial run '%.*s' does not exist",
                     SLICE_PRINT(slice_part(text, 0, 64)));
}

Status
partial_visit_begin(Exchange *exchange, PartialLoop *home, PartialVisit **ret_visit)
{
    static uint64_t count;
    Call *call = exchange_call(exchange);
    PartialFacts facts;
    PartialVisit *visit = arena_alloc(call->arena, sizeof *visit);
    StepCall *step = visit == NULL ? NULL : step_call_new(exchange, home->steps);
    if (step == NULL) {
        return call_fail_memory(call, "a request about a partial run");
    }
    TRY(read_key(call, exchange_request(exchange), &visit->key));
    TRY(partial_table_look(call, home->table, &visit->key, &facts));
    step->kind = STEP_BODY_CONTINUE;
    step->graph = facts.graph;
    step->plan = facts.plan;
    step->session_id = visit->key.session;
    visit->step = step;
    visit->home = home;
    visit->asked = facts.loop;
    visit->expires_ns = facts.expires_ns;
    visit->number = atomic_add_relaxed(&count, 1);
    visit->waiter.is_ready = visit_is_ready;
    visit->waiter.serve = serve_visit;
    list_init(&visit->waiter.link);
    *ret_visit = visit;
    return STATUS_OK;
}

void
partial_visit_send(PartialVisit *visit)
{
    assert(visit->act != NULL && visit->answer != NULL);

    StepCall *step = visit->step;
    Status status = call_check(step->call, clock_monotonic_ns());
    if (status == STATUS_OK && partial_table_is_closed(visit->home->table)) {
        status = call_fail(step->call, STATUS_UNAVAILABLE, "the gateway is shutting down");
    }
    if (status != STATUS_OK) {
        exchange_fail(step->exchange, status);
        return;
    }
    exchange_deadline(step->exchange, visit->expires_ns + REPLY_GRACE_MS * CLOCK_NS_PER_MS);
    exchange_on_cancel(step->exchange, client_gone, visit);
    if (visit->asked == visit->home) {
        visit_run(visit);
    } else {
        visit->task.run = arrive_at_run;
        loop_post(visit->asked->steps->loop, &visit->task);
    }
}

void
partial_visit_simply(Exchange *exchange, PartialLoop *home, PartialAct act, PartialAnswer answer)
{
    PartialVisit *visit = NULL;
    Status status = partial_visit_begin(exchange, home, &visit);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
        return;
    }
    visit->act = act;
    visit->answer = answer;
    partial_visit_send(visit);
}
