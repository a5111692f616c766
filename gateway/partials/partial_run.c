#include "gateway/partials/partial_run.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/steps/step_reply.h"
#include "shared/base/buffer.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

enum {
    ARENA_SIZE_MAX = 256 << 20,
    PREPARE_MS = 60000,
    /* Time for a place among the running steps to come free, or to be lent by other gateways, of which one
     * that has gone is missed after four seconds. Open partial runs may keep their places for long, and their
     * client may be the one who waits. */
    PLACE_WAIT_MS = 5000,
    PLACE_CHECK_MS = 1000,
};

PartialRun *
partial_run_new(PartialLoop *loop, const PartialKey *key, const Call *call, Slice body)
{
    Arena *arena = arena_new(ARENA_SIZE_MAX);
    PartialRun *run = arena == NULL ? NULL : arena_alloc(arena, sizeof *run);
    const char *request = run == NULL ? NULL : text_copy(arena, body);
    if (request == NULL) {
        arena_free(arena);
        return NULL;
    }
    list_init(&run->link);
    list_init(&run->waiters);
    run->facts = (PartialFacts){.key = *key, .loop = loop};
    run->request = slice_of(request, body.size);
    run->call.arena = arena;
    run->call.deadline_ns = clock_monotonic_ns() + PREPARE_MS * CLOCK_NS_PER_MS;
    (void)snprintf(run->call.request_id, sizeof run->call.request_id, "%s", call->request_id);
    if (!step_call_init(&run->step, loop->steps, &run->call)) {
        arena_free(arena);
        return NULL;
    }
    run->step.kind = STEP_BODY_PARTIAL_RUN;
    run->step.tenant = key->tenant;
    run->step.session_id = key->session;
    run->step.id = key->id;
    return run;
}

void
partial_run_free(PartialRun *run)
{
    assert(run->step.running.run == NULL && list_is_empty(&run->waiters));

    timer_clear(run->step.loop->loop, &run->place);
    timer_clear(run->step.loop->loop, &run->expiry);
    partial_table_remove(run->facts.loop->table, &run->facts);
    list_remove(&run->link);
    arena_free(run->call.arena); /* holds the run itself */
}

PartialRun *
partial_run_find(PartialTable *table, const PartialKey *key)
{
    PartialFacts *facts = partial_table_find(table, key);
    return facts == NULL ? NULL : LIST_ITEM(facts, PartialRun, facts);
}

Status
partial_run_prepare(PartialRun *run, JobContext *context, bool *ret_needs_job)
{
    return step_call_prepare(&run->step, run->request, context, ret_needs_job);
}

static void
drop_outputs(PartialRun *run)
{
    for (size_t fetch = 0; fetch < run->step.plan->fetch_count; fetch++) {
        tensor_unref(&run->step.outputs[fetch]);
        run->fetches[fetch].held_bytes = 0;
    }
    run->output_bytes = 0;
    memory_claim_close(&run->step.reply.claim);
}

static void
note_end(PartialRun *run, Status status, const char *message)
{
    run->has_ended = true;
    run->status = status;
    (void)snprintf(run->message, sizeof run->message, "%s", message);
    if (status != STATUS_OK) {
        drop_outputs(run);
    }
}

void
partial_run_fail(PartialRun *run, Status status, const char *message)
{
    assert(status != STATUS_OK);

    if (run->has_ended && run->status != STATUS_OK) {
        return;
    }
    note_end(run, status, message);
    if (run->step.running.run != NULL) {
        step_cancel(run->step.running.run, message);
    }
}

bool
partial_run_is_used_up(const PartialRun *run)
{
    const Plan *plan = run->step.plan;
    return run->fed_count == plan->feed_count && run->taken_count == plan->fetch_count;
}

bool
partial_run_is_complete(const PartialRun *run)
{
    return run->has_ended && run->status == STATUS_OK && run->taken_count == run->step.plan->fetch_count;
}

static void
serve_waiters(PartialRun *run)
{
    LIST_EACH(&run->waiters, link)
    {
        PartialWaiter *waiter = LIST_ITEM(link, PartialWaiter, link);
        if (waiter->is_ready(waiter, run)) {
            list_remove(&waiter->link);
            waiter->serve(waiter, run);
        }
    }
}

void
partial_run_settle(PartialRun *run)
{
    const StepLoop *loop = run->step.loop;
    serve_waiters(run);
    if (!list_is_empty(&run->waiters)) {
        return;
    }
    if (!run->has_ended && replica_is_draining(loop->steps->replica)) {
        partial_run_fail(run, STATUS_UNAVAILABLE, "the partial run has ended: the gateway is shutting down");
    }
    if (run->step.running.run != NULL) {
        return; /* step_done() settles again */
    }
    if (partial_run_is_complete(run) || (run->status != STATUS_OK && run->is_told) || loop->is_closing) {
        partial_run_free(run);
    } else {
        timer_set(loop->loop, &run->expiry, run->facts.expires_ns);
    }
}

static void
expire_run(Timer *timer)
{
    partial_run_free(LIST_ITEM(timer, PartialRun, expiry));
}

/* Returns whether the run's feeds, and outputs that nobody has asked for, are within the limit. */
static bool
is_within_limit(const PartialRun *run, uint64_t fed_bytes)
{
    return fed_bytes + run->output_bytes <= run->step.loop->steps->limits->partial_run_bytes;
}

static void
end_above_limit(PartialRun *run)
{
    char message[ERROR_MESSAGE_SIZE];
    if (is_within_limit(run, run->fed_bytes)) {
        return;
    }
    (void)snprintf(message, sizeof message,
        "the partial run has ended: feeds, and outputs that nobody asked for, pass the limit "
        "partial_run_bytes, %llu bytes",
        (unsigned long long)run->step.loop->steps->limits->partial_run_bytes);
    partial_run_fail(run, STATUS_RESOURCE_EXHAUSTED, message);
}

/* Returns the bytes of an output that has arrived; 0 for one that has not. */
static uint64_t
output_size(const PartialRun *run, uint32_t fetch)
{
    bool has_value = run->fetches[fetch].has_come && !run->fetches[fetch].is_dead;
    return has_value ? tensor_byte_size(&run->step.outputs[fetch]) : 0;
}

void
partial_run_take(PartialRun *run, const uint32_t *fetches, size_t count)
{
    assert(run->taken_count + count <= run->step.plan->fetch_count);

    for (size_t index = 0; index < count; index++) {
        run->fetches[fetches[index]].is_taken = true;
        run->output_bytes -= output_size(run, fetches[index]);
    }
    run->taken_count += count;
}

void
partial_run_put_back(PartialRun *run, const uint32_t *fetches, size_t count)
{
    assert(run->taken_count >= count);

    for (size_t index = 0; index < count; index++) {
        run->fetches[fetches[index]].is_taken = false;
        run->output_bytes += output_size(run, fetches[index]);
    }
    run->taken_count -= count;
    end_above_limit(run);
}

Status
partial_run_give(Call *call, PartialRun *run, const Tensor *feeds)
{
    size_t count = run->step.plan->feed_count;
    uint64_t bytes = run->fed_bytes;
    for (size_t feed = 0; feed < count; feed++) {
        bytes += feeds[feed].dtype == DTYPE_INVALID ? 0 : tensor_byte_size(&feeds[feed]);
    }
    if (!is_within_limit(run, bytes)) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "the limit partial_run_bytes is %llu bytes",
            (unsigned long long)run->step.loop->steps->limits->partial_run_bytes);
    }
    for (size_t feed = 0; feed < count; feed++) {
        if (feeds[feed].dtype == DTYPE_INVALID) {
            continue;
        }
        run->is_fed[feed] = true;
        run->fed_count++;
        if (run->step.running.run != NULL) {
            step_feed(run->step.running.run, feed, &feeds[feed]);
        }
    }
    run->fed_bytes = bytes;
    return STATUS_OK;
}

void
partial_run_hand_out(PartialRun *run, const uint32_t *fetches, size_t count, StepCall *taker)
{
    StepCall *step = &run->step;
    size_t held_bytes = 0;
    for (size_t index = 0; index < count; index++) {
        uint32_t fetch = fetches[index];
        step->reply.kept_size -= tensor_byte_size(&step->outputs[fetch]);
        taker->outputs[fetch] = step->outputs[fetch];
        step->outputs[fetch] = (Tensor){0};
        held_bytes += run->fetches[fetch].held_bytes;
        run->fetches[fetch].held_bytes = 0;
    }
    if (held_bytes > 0) {
        memory_claim_split(&step->reply.claim, held_bytes, taker->loop->loop, &taker->reply.claim);
    }
}

/* Takes memory for a large output, which stays with its worker while the run holds none and there is no room.
 */
static OutputWay
step_head(void *context, const OutputHead *head)
{
    PartialRun *run = context;
    OutputWay way = run->has_ended ? OUTPUT_WAITS : step_reply_take_whole(&run->step, head);
    if (way == OUTPUT_WHOLE) {
        run->fetches[head->fetch].held_bytes = step_reply_whole_size(&run->step, head);
    }
    return way;
}

/* Keeps an output; many small ones take memory, too. False without it: the run ends. */
static bool
keep_output(PartialRun *run, uint32_t fetch, const Tensor *tensor)
{
    const MemoryClaim *claim = &run->step.reply.claim;
    size_t held_before = claim->held;
    bool is_kept = tensor->dtype == DTYPE_INVALID || step_reply_keep(&run->step, fetch, tensor);
    run->fetches[fetch].held_bytes += claim->held - held_before;
    return is_kept;
}

static void
step_output(void *context, uint32_t fetch, const Tensor *tensor)
{
    PartialRun *run = context;
    if (run->has_ended || !keep_output(run, fetch, tensor)) {
        return;
    }
    run->fetches[fetch].has_come = true;
    run->fetches[fetch].is_dead = tensor->dtype == DTYPE_INVALID;
    run->output_bytes += run->fetches[fetch].is_taken ? 0 : output_size(run, fetch);
    end_above_limit(run);
    partial_run_settle(run);
}

/* Names the feeds that are missing: "'a', 'b' and 3 more". */
static void
write_lacking(const PartialRun *run, Buffer *text)
{
    enum { NAMED_MAX = 4 };
    const Plan *plan = run->step.plan;
    size_t count = 0;
    for (size_t feed = 0; feed < plan->feed_count; feed++) {
        if (!run->is_fed[feed] && count++ < NAMED_MAX) {
            buffer_append_format(text, "%s'%.*s'", count == 1 ? "" : ", ", SLICE_PRINT(plan->feeds[feed]));
        }
    }
    if (count > NAMED_MAX) {
        buffer_append_format(text, " and %zu more", count - NAMED_MAX);
    }
}

static void
explain_end(const PartialRun *run, const StepReport *report, Buffer *text)
{
    bool has_expired = report->failure.code == STATUS_DEADLINE_EXCEEDED;
    if (has_expired && run->is_admitted && run->fed_count < run->step.plan->feed_count) {
        buffer_append_string(text, "the partial run has expired; feeds that were not given: ");
        write_lacking(run, text);
        return;
    }
    if (has_expired && run->step.reply.claim.wait != NULL) {
        buffer_append_string(text,
            "the partial run has expired: its gateway had no room for an output, "
            "read the answers of others and ask for what other partial runs have computed, "
            "or raise --output-memory");
        return;
    }
    if (has_expired) {
        buffer_append_string(text, "the partial run has expired: ");
    } else if (run->is_admitted && status_is_retryable(report->failure.code)) {
        buffer_append_string(text, "the partial run has ended and cannot be repeated, begin a new one: ");
    }
    char cause[ERROR_MESSAGE_SIZE];
    failure_text(&report->failure, cause);
    buffer_append_string(text, cause);
}

static void
step_done(void *context, const StepReport *report)
{
    PartialRun *run = context;
    AUTO_BUFFER text = {0};
    run->step.running.run = NULL;
    run->fed_bytes = 0;
    if (!run->has_ended) {
        explain_end(run, report, &text);
        const char *message = buffer_string(&text);
        note_end(run, report->failure.code, message == NULL ? "" : message);
        run->is_told = run->is_told ||
                       report->failure.code == STATUS_DEADLINE_EXCEEDED; /* nobody may ask for it any more */
    }
    partial_run_settle(run);
}

/* Ends a run that waits for a place among its tenant's running steps. One that waits for a slot of the pool
 * goes on waiting until its time is over, as any step does. */
static void
check_place(Timer *timer)
{
    PartialRun *run = LIST_ITEM(timer, PartialRun, place);
    Loop *loop = run->step.loop->loop;
    if (run->is_admitted || run->has_ended) {
        return;
    }
    if (!step_lacks_place(run->step.running.run)) {
        timer_set(loop, &run->place, loop_now_ns(loop) + PLACE_CHECK_MS * CLOCK_NS_PER_MS);
        return;
    }
    partial_run_fail(run, STATUS_RESOURCE_EXHAUSTED,
        "the quota 'running_steps_max' is used up by steps that run, open partial runs among them: "
        "complete or delete some");
    partial_run_settle(run);
}

static void
step_admitted(void *context)
{
    PartialRun *run = context;
    run->is_admitted = true;
    timer_clear(run->step.loop->loop, &run->place);
    partial_run_settle(run);
}

static Status
begin_step(Call *call, PartialRun *run)
{
    static const StepEvents events = {
        .on_admitted = step_admitted, .on_output = step_output, .on_head = step_head, .on_done = step_done};
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    StepRunOptions options;
    step_call_describe(&run->step, tenant, session, &options);
    options.deadline_ns = run->facts.expires_ns;
    options.is_partial = true;
    run->step.running.run = step_start(run->step.loop->dispatcher, &options, &events, run);
    return run->step.running.run != NULL ? STATUS_OK : call_fail_memory(call, "a partial run");
}

void
partial_run_cancel(PartialRun *run)
{
    if (run->step.running.run != NULL) {
        step_cancel(run->step.running.run, "nobody waits for the partial run any more");
    }
}

Status
partial_run_begin(Call *call, PartialRun *run, PartialWaiter *waiter)
{
    assert(run->step.running.run == NULL && run->step.plan != NULL);

    PartialLoop *loop = run->facts.loop;
    const Plan *plan = run->step.plan;
    uint64_t time_ms = run->step.body.timeout_ms;
    run->is_fed = arena_alloc(run->call.arena, (plan->feed_count + 1) * sizeof *run->is_fed);
    run->fetches = arena_alloc(run->call.arena, (plan->fetch_count + 1) * sizeof *run->fetches);
    if (run->is_fed == NULL || run->fetches == NULL) {
        return call_fail_memory(call, "a partial run");
    }
    run->facts.graph = run->step.graph;
    run->facts.plan = run->step.plan;
    run->facts.expires_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    run->expires_us = clock_wall_us() + time_ms * 1000;
    run->expiry.fire = expire_run;
    TRY(partial_table_add(call, loop->table, &run->facts));
    TRY(begin_step(call, run));
    list_append(&loop->runs, &run->link);
    list_append(&run->waiters, &waiter->link);
    run->place.fire = check_place;
    timer_set(
        loop->steps->loop, &run->place, loop_now_ns(loop->steps->loop) + PLACE_WAIT_MS * CLOCK_NS_PER_MS);
    return STATUS_OK;
}

void
partials_drain(PartialLoop *loop)
{
    LIST_EACH(&loop->runs, link)
    {
        partial_run_settle(LIST_ITEM(link, PartialRun, link));
    }
}

void
partials_close(PartialLoop *loop)
{
    LIST_EACH(&loop->runs, link)
    {
        PartialRun *run = LIST_ITEM(link, PartialRun, link);
        partial_run_fail(run, STATUS_UNAVAILABLE, "the partial run has ended: the gateway is shutting down");
        run->is_told = true;
        partial_run_settle(run);
    }
}

typedef struct SessionEnd {
    Task task; /* first */
    PartialLoop *loop;
    TenantId tenant;
    SessionId session;
} SessionEnd;

static void
end_session_there(Task *task)
{
    SessionEnd *end = (SessionEnd *)(void *)task;
    LIST_EACH(&end->loop->runs, link)
    {
        PartialRun *run = LIST_ITEM(link, PartialRun, link);
        if (uuid_equal(run->step.session_id.value, end->session.value) &&
            uuid_equal(run->step.tenant.value, end->tenant.value)) {
            partial_run_fail(run, STATUS_CANCELLED, "its session has been deleted");
            run->is_told = true;
            partial_run_settle(run);
        }
    }
    memory_free(end);
}

void
partials_end_session(const PartialTable *table, TenantId tenant, SessionId session)
{
    size_t count = 0;
    PartialLoop *const *loops = partial_table_loops(table, &count);
    for (size_t index = 0; index < count; index++) {
        SessionEnd *end = memory_new(1, sizeof *end);
        if (end == NULL) {
            return;
        }
        *end = (SessionEnd){
            .task.run = end_session_there, .loop = loops[index], .tenant = tenant, .session = session};
        loop_post(loops[index]->steps->loop, &end->task);
    }
}
