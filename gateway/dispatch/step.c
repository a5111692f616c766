/* Happy path: step_start() asks for admission; once the step is admitted, at this turn's end or after a wait,
 * attempt_begin() binds the slots and has each run (slot.c) → outputs are handed on as they come → after the
 * last slot, step_finish() tells the caller, then the workers (CleanupGraph, if more than one took part).
 *
 * Failures:
 *   - a worker that dies or cannot be reached: a pure step begins its next attempt on others, as long as
 *     attempts and time are left; outputs already handed on are not handed on again (same bits);
 *   - a worker that takes no run, since it drains or has restarted: the same, and it costs no attempt, so
 *     that a step outlives the news of many workers;
 *   - any other error, the deadline, a cancellation: the first one is the step's; all calls are cancelled;
 *   - a slot that was ABORTED only tells that another one failed: that one's error is waited for, briefly;
 *   - the deadline: every worker says within DEADLINE_GRACE_MS which nodes wait for what, and the step's
 *     message names these and the workers that said nothing. */
#include "gateway/dispatch/step.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/metrics.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"

enum {
    START_ARENA_SIZE_MAX = 1 << 16,
    /* The worker enforces the deadline too, and its report says which nodes waited for what: the grace
     * lets it come first. */
    DEADLINE_GRACE_MS = 200,
    CAUSE_WAIT_MS = 100,
    READER_CHECK_MS = 1000,
};

static void attempt_begin(StepRun *step);

static void
step_free(StepRun *step)
{
    for (size_t index = 0; index < step->feed_count; index++) {
        tensor_unref(&step->feeds[index]);
    }
    for (size_t fetch = 0; step->early != NULL && fetch < step->plan->fetch_count; fetch++) {
        tensor_unref(&step->early[fetch]);
    }
    memory_free(step->early);
    memory_free(step->holds_feed);
    for (size_t index = 0; index < step->slot_count; index++) {
        buffer_done(&step->slots[index].trace);
        buffer_done(&step->slots[index].last_words);
    }
    roster_unref(step->workers);
    plan_unref(step->plan);
    memory_free(step->pins);
    memory_free(step->is_delivered);
    buffer_done(&step->binding);
    memory_free(step);
}

/* Stops every slot of the current attempt; none calls back afterwards. */
static void
slots_stop(StepRun *step)
{
    for (size_t index = 0; index < step->slot_count; index++) {
        SlotRun *slot = &step->slots[index];
        if (slot->state == SLOT_REGISTERING) {
            list_remove(&slot->waiting);
        }
        if (slot->call != NULL) {
            UpstreamCall *call = slot->call;
            slot->call = NULL;
            bind_load(step->dispatcher, slot_worker(slot), -1);
            upstream_detach(call);
        }
    }
}

/* Returns how long the step has waited for a slot of the pool, until it began or ended without. */
static uint64_t
admission_wait_ns(const StepRun *step)
{
    uint64_t end_ns = step->admitted_ns != 0 ? step->admitted_ns : clock_monotonic_ns();
    return step->entered_ns == 0 ? 0 : end_ns - step->entered_ns;
}

static void
report_fill(StepRun *step, StepReport *report)
{
    *report = (StepReport){
        .failure = step->failure,
        .attempt = step->attempt,
        .started_ns = step->started_ns,
        .elapsed_us = (clock_monotonic_ns() - step->started_ns) / CLOCK_NS_PER_US,
        .waited_us = admission_wait_ns(step) / CLOCK_NS_PER_US,
        .computed_ns = step_computed_ns(step),
        .slot_count = step->slot_count,
        .slots = step->reports,
    };
    for (size_t index = 0; index < step->slot_count; index++) {
        bool is_bound = step->workers != NULL && step->slots[index].worker >= 0;
        const SlotRun *slot = &step->slots[index];
        step->reports[index] = (SlotReport){
            .task = is_bound ? slot_worker(slot)->task : -1,
            .sent_ns = slot->sent_ns,
            .answered_ns = slot->answered_ns,
            .is_known = slot->is_known,
            .uploaded_bytes = slot->uploaded_bytes,
            .stats = slot->stats,
            .last_words = buffer_is_ok(&slot->last_words) ? buffer_slice(&slot->last_words) : (Slice){0},
        };
    }
}

/* Gives the step's slot of the pool back, and remembers what a step of this plan takes. */
static void
leave_pool(StepRun *step, const StepReport *report)
{
    if (step->failure.code == STATUS_OK && !step->only_registers && report->computed_ns > 0) {
        plan_note_computed(step->plan, report->computed_ns);
    }
    admission_leave(&step->ticket, report->computed_ns);
}

void
step_finish(StepRun *step)
{
    Dispatcher *dispatcher = step->dispatcher;
    slots_stop(step);
    if (!step->only_registers && (step->slot_count > 1 || step->failure.code != STATUS_OK)) {
        cleanup_send(step);
    }
    timer_clear(dispatcher->loop, &step->timer);
    timer_clear(dispatcher->loop, &step->cause);
    loop_undefer(dispatcher->loop, &step->start); /* when the dispatcher ends within this turn */
    list_remove(&step->link);
    dispatcher->step_count--;
    StepReport report;
    report_fill(step, &report);
    leave_pool(step, &report);
    if (!step->only_registers) {
        metrics_step_end(report.failure.code, report.elapsed_us);
    }
    step->events->on_done(step->context, &report);
    step_free(step);
}

static void
finish_deferred(Task *task)
{
    step_finish((StepRun *)(void *)((char *)task - offsetof(StepRun, start)));
}

void
step_end(StepRun *step, const Failure *failure)
{
    if (step->is_ending) {
        return;
    }
    step->is_ending = true;
    if (failure != NULL) {
        step->failure = *failure;
    }
    step->start.run = finish_deferred; /* replaces a start or a further attempt that has not begun */
    loop_defer(step->dispatcher->loop, &step->start);
}

/* Counts a slot that can tell nothing more about how the step ends. */
static void
note_ended(SlotRun *slot)
{
    slot->step->ended_count += slot->has_ended ? 0 : 1;
    slot->has_ended = true;
}

static bool
have_all_ended(const StepRun *step)
{
    return step->ended_count == step->slot_count;
}

static const char late_summary[] = "the step did not end before its deadline";

/* Words for a slot whose worker has said nothing, by its state. */
static const char *const silences[] = {
    [SLOT_IDLE] = "not asked yet",
    [SLOT_ASKING] = "no word from the worker",
    [SLOT_REGISTERING] = "its partition is being registered",
    [SLOT_RUNNING] = "no word from the worker",
    [SLOT_DONE] = "",
};

/* Cuts the words that every worker begins with: "the deadline has passed; waiting: …". */
static Slice
without_preamble(Slice message)
{
    size_t at = slice_find(message, ';');
    return at < message.size && slice_starts_with(slice_part(message, 0, at), SLICE("the "))
               ? slice_part(message, at + 2, message.size)
               : message;
}

/* Ends a step whose deadline has passed before it was admitted, or before it had its next turn. */
static void
end_waiting(StepRun *step)
{
    Failure failure = failure_of(STATUS_DEADLINE_EXCEEDED, (Slice){0}, "the deadline has passed while %s",
        step->entered_ns == 0 ? "the step's feeds were coming" : "the step waited for a slot of the pool");
    step_end(step, &failure);
}

static bool
slot_late(SlotRun *slot, const Failure *failure)
{
    StepRun *step = slot->step;
    if (step->awaits_turn) {
        end_waiting(step); /* what the worker waits for has come, and was held */
        return true;
    }
    if (step->slot_count == 1 || step->is_ending || step->is_restarting ||
        clock_monotonic_ns() < step->deadline_ns) {
        return false;
    }
    buffer_clear(&slot->last_words);
    buffer_append_slice(&slot->last_words, without_preamble(slice_from_string(failure->message)));
    note_ended(slot);
    step->is_late = true;
    return true;
}

static void
end_late(StepRun *step)
{
    AUTO_BUFFER message = {0};
    buffer_append_string(&message, late_summary);
    for (size_t index = 0; index < step->slot_count; index++) {
        SlotRun *slot = &step->slots[index];
        if (slot->worker < 0 || step->workers == NULL) {
            continue;
        }
        if (slot->last_words.size == 0) {
            buffer_append_string(&slot->last_words, silences[slot->state]);
        }
        if (slot->last_words.size > 0) {
            buffer_append_format(&message, "; slot %zu on worker '%s': %s", index, slot_worker(slot)->name,
                buffer_string(&slot->last_words));
        }
    }
    const char *whole = buffer_string(&message);
    Failure failure =
        failure_of(STATUS_DEADLINE_EXCEEDED, (Slice){0}, "%s", whole == NULL ? late_summary : whole);
    step_end(step, &failure);
}

/* Returns whether a worker refused the attempt, and may once more. */
static bool
was_refused(const StepRun *step)
{
    bool is_refused = false;
    for (size_t index = 0; index < step->slot_count; index++) {
        is_refused = is_refused || step->slots[index].is_refused;
    }
    return is_refused && step->refusal_count < REFUSALS_MAX;
}

static void
restart_deferred(Task *task)
{
    StepRun *step = (StepRun *)(void *)((char *)task - offsetof(StepRun, start));
    timer_clear(step->dispatcher->loop, &step->cause);
    slots_stop(step);
    cleanup_send(step);
    step->computed_ns += attempt_computed_ns(step);
    step->passing.slot = NULL;
    step->is_restarting = false;
    if (was_refused(step)) {
        step->refusal_count++;
    } else {
        step->attempt++;
    }
    attempt_begin(step);
}

/* Returns whether a further attempt is allowed: a step that is not pure may run again only if no node of
 * it can have run. */
static bool
may_repeat(const StepRun *step)
{
    bool may_have_begun = false;
    for (size_t index = 0; index < step->slot_count; index++) {
        may_have_begun = may_have_begun || step->slots[index].may_have_begun;
    }
    return !step->fed.has_any && (step->is_pure || !may_have_begun) &&
           (step->attempt < step->attempt_last || was_refused(step)) &&
           step->deadline_ns > clock_monotonic_ns();
}

/* Ends a step whose feeds are gone: its client has to send them again. */
static void
end_without_feeds(StepRun *step, const Failure *cause)
{
    char text[ERROR_MESSAGE_SIZE];
    failure_text(cause, text);
    Failure failure = failure_of(STATUS_UNAVAILABLE, (Slice){0},
        "%s; the step's feeds have passed through the gateway and are not kept: send the request again",
        text);
    step_end(step, &failure);
}

static void
attempt_failed(StepRun *step, const Failure *failure)
{
    bool is_transient = failure->code == STATUS_UNAVAILABLE || failure->code == STATUS_ABORTED;
    if (step->is_ending || step->is_restarting) {
        return;
    }
    if (is_transient && step->fed.has_any) {
        end_without_feeds(step, failure);
        return;
    }
    if (!is_transient || !may_repeat(step)) {
        step_end(step, failure);
        return;
    }
    step->is_restarting = true;
    step->start.run = restart_deferred;
    loop_defer(step->dispatcher->loop, &step->start);
}

static void
slot_failed(SlotRun *slot, Failure failure)
{
    StepRun *step = slot->step;
    if (failure.code == STATUS_UNAVAILABLE && !step->is_ending && !step->is_restarting) {
        (void)snprintf(step->avoided, sizeof step->avoided, "%s", slot_worker(slot)->name);
        bind_note_failure(step->dispatcher, slot_worker(slot));
    }
    /* The gateway has not cancelled: the worker has lost the connection. */
    failure.code = failure.code == STATUS_CANCELLED ? STATUS_ABORTED : failure.code;
    bind_explain(slot, &failure);
    attempt_failed(step, &failure);
}

/* Ends a wait for the cause of aborted slots. Once the deadline has passed, that is the cause, and the
 * slots that have not reported yet may still do so. */
static void
cause_unknown(Timer *timer)
{
    StepRun *step = (StepRun *)(void *)((char *)timer - offsetof(StepRun, cause));
    if (clock_monotonic_ns() < step->deadline_ns) {
        attempt_failed(step, &step->consequence);
    }
}

/* Ends an attempt of which no slot told why others were aborted: the deadline, if it has passed. */
static void
end_aborted(StepRun *step)
{
    assert(have_all_ended(step) && step->was_aborted);

    if (clock_monotonic_ns() >= step->deadline_ns) {
        end_late(step);
    } else {
        attempt_failed(step, &step->consequence);
    }
}

/* Returns how a step ends, of which no slot tells more than that it was aborted. One that was broken off for
 * another gateway is not run again: it may have changed variables. */
static Failure
failure_of_aborted(const SlotRun *slot, const Failure *failure)
{
    return slot->was_broken_off || slot->step->joined_attempt != 0
               ? failure_of(STATUS_FAILED_PRECONDITION, (Slice){0},
                     "the step was broken off on worker '%s' before it had ended, and what it had written "
                     "stays: %.300s",
                     slot_worker(slot)->name, failure->message)
               : failure_of(STATUS_ABORTED, (Slice){0}, "%s", failure->message);
}

static void
slot_aborted(SlotRun *slot, const Failure *failure)
{
    StepRun *step = slot->step;
    if (step->is_ending || step->is_restarting) {
        return;
    }
    note_ended(slot);
    buffer_append_string(&slot->last_words, failure->message);
    if (!step->was_aborted) {
        step->was_aborted = true;
        step->consequence = failure_of_aborted(slot, failure);
        step->cause.fire = cause_unknown;
        timer_set(step->dispatcher->loop, &step->cause,
            loop_now_ns(step->dispatcher->loop) + CAUSE_WAIT_MS * CLOCK_NS_PER_MS);
    }
    if (have_all_ended(step)) {
        end_aborted(step);
    }
}

static bool
has_all_outputs(const StepRun *step)
{
    for (size_t fetch = 0; fetch < step->plan->fetch_count; fetch++) {
        if (!step->is_delivered[fetch]) {
            return false;
        }
    }
    return true;
}

static void
slot_done(SlotRun *slot)
{
    StepRun *step = slot->step;
    note_ended(slot);
    if (!have_all_ended(step)) {
        turn_settle(step);
        return;
    }
    if (step->is_late) {
        end_late(step);
    } else if (step->was_aborted) {
        end_aborted(step);
    } else if (!step->only_registers && !has_all_outputs(step)) {
        Failure failure = failure_of(
            STATUS_INTERNAL, (Slice){0}, "the workers said they are done, but an output is missing");
        step_end(step, &failure);
    } else {
        step_end(step, NULL);
    }
}

/* Asks for more of the feed that comes in pieces, once all workers read it. */
static void
slot_reads_feeds(SlotRun *slot)
{
    const StepRun *step = slot->step;
    if (step->awaits_feeds && step->events->on_feed_room != NULL && !step_feeds_must_wait(step)) {
        step->events->on_feed_room(step->context);
    }
}

static void
slot_rested(SlotRun *slot)
{
    turn_settle(slot->step);
}

static const SlotEvents slot_events = {.failed = slot_failed,
    .aborted = slot_aborted,
    .late = slot_late,
    .done = slot_done,
    .reads_feeds = slot_reads_feeds,
    .rested = slot_rested};

static void
slot_reset(SlotRun *slot, StepRun *step, const PlanPartition *partition)
{
    buffer_done(&slot->trace);
    buffer_done(&slot->last_words);
    *slot = (SlotRun){.step = step, .partition = partition, .worker = -1};
    list_init(&slot->waiting);
    if (step->slot_count > 1) {
        (void)snprintf(slot->push_token, sizeof slot->push_token, "%016llx%016llx",
            (unsigned long long)random_uint64(), (unsigned long long)random_uint64());
    }
}

static void
slots_begin(StepRun *step)
{
    for (size_t index = 0; index < step->slot_count && !step->is_ending && !step->is_restarting; index++) {
        slot_begin(&step->slots[index]);
    }
}

static void
step_asked(StepRun *step, const Failure *failure)
{
    if (failure->code == STATUS_OK) {
        slots_begin(step);
    } else {
        step_end(step, failure);
    }
}

static void
attempt_begin(StepRun *step)
{
    assert(!step->rests);

    AUTO_ARENA arena = arena_new(START_ARENA_SIZE_MAX);
    Call binding = {.arena = arena};
    step->ended_count = 0;
    step->was_aborted = false;
    step->computed_count = 0;
    step->joined_attempt = 0;
    buffer_clear(&step->binding);
    step->open_size = plan_open_size(step->plan, step->feeds);
    for (size_t index = 0; index < step->slot_count; index++) {
        slot_reset(&step->slots[index], step, &step->plan->partitions[index]);
    }
    if (bind_slots(&binding, step) != STATUS_OK) {
        Failure failure = failure_of_call(&binding, (Slice){0});
        step_end(step, &failure);
        return;
    }
    if (step->is_once && step->began_ns != 0 && step->slot_count > 1) {
        ask_begin(step, step_asked);
    } else {
        slots_begin(step);
    }
}

static void
feed_deferred(Task *task)
{
    attempt_begin((StepRun *)(void *)((char *)task - offsetof(StepRun, start)));
}

/* Lets the workers begin that have all feeds. */
static void
end_requests(StepRun *step)
{
    for (size_t index = 0; index < step->slot_count; index++) {
        slot_end_request(&step->slots[index]);
    }
}

static void
start_deferred(Task *task)
{
    StepRun *step = (StepRun *)(void *)((char *)task - offsetof(StepRun, start));
    if (step->events->on_admitted != NULL) {
        step->events->on_admitted(step->context);
    }
    if (step->is_ending) {
        return; /* on_admitted() has ended it */
    }
    if (step->fed.has_any) {
        step->awaits_feeds = false;
        end_requests(step);
    } else {
        attempt_begin(step);
    }
}

/* Ends the step; but an output on its way out has been computed in time, however slowly its reader takes
 * it. */
static void
deadline_passed(Timer *timer)
{
    StepRun *step = (StepRun *)(void *)((char *)timer - offsetof(StepRun, timer));
    if (step->admitted_ns == 0 || step->awaits_turn) {
        end_waiting(step);
        return;
    }
    if (step->is_paused || step->passing.slot != NULL) {
        Loop *loop = step->dispatcher->loop;
        timer_set(loop, timer, loop_now_ns(loop) + READER_CHECK_MS * CLOCK_NS_PER_MS);
        return;
    }
    end_late(step);
}

static void
admit_step(StepRun *step)
{
    step->admitted_ns = clock_monotonic_ns();
    step->start.run = start_deferred;
    loop_defer(step->dispatcher->loop, &step->start);
}

static void
step_granted(AdmissionTicket *ticket)
{
    StepRun *step = (StepRun *)(void *)((char *)ticket - offsetof(StepRun, ticket));
    if (step->is_ending) {
        return;
    }
    if (step->admitted_ns != 0) {
        turn_granted(step);
    } else {
        admit_step(step);
    }
}

/* Asks for a slot of the pool. What only registers takes none. */
static void
enter_pool(StepRun *step)
{
    static const char *const refusals[] = {
        [ADMISSION_FULL] =
            "too many steps of the tenant wait for a slot of the pool: the limit waiting_steps",
        [ADMISSION_NO_MEMORY] = "no memory left for admitting the step",
    };
    AdmissionLane *lane = step->dispatcher->lane;
    step->entered_ns = clock_monotonic_ns();
    if (lane == NULL || step->only_registers) {
        admit_step(step);
        return;
    }
    step->ticket.granted = step_granted;
    step->ticket.priority = step->priority;
    step->ticket.average_ns = &step->plan->computed_ns;
    AdmissionAnswer answer = admission_enter(lane, &step->ticket, step->payer);
    if (answer == ADMISSION_RUNS) {
        admit_step(step);
    } else if (answer != ADMISSION_WAITS) {
        Failure failure = failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "%s", refusals[answer]);
        step_end(step, &failure);
    }
}

/* Returns false without memory. */
static bool
step_copy_pins(StepRun *step, const StepRunOptions *options)
{
    size_t count = options->plan->slot_count;
    if (options->pins == NULL) {
        return true;
    }
    step->pins = memory_new(count, sizeof *step->pins);
    if (step->pins != NULL) {
        memcpy(step->pins, options->pins, count * sizeof *step->pins);
    }
    return step->pins != NULL;
}

static_assert(_Alignof(SlotRun) <= _Alignof(Tensor) && _Alignof(SlotReport) <= _Alignof(Tensor),
    "step_new() aligns them so");

/* Returns a step with its feeds, slots and reports in one piece of memory; NULL without memory. */
static StepRun *
step_new(size_t feed_count, size_t slot_count)
{
    StepRun *step = memory_new(
        1, sizeof *step + feed_count * sizeof(Tensor) + slot_count * (sizeof(SlotRun) + sizeof(SlotReport)));
    if (step != NULL) {
        step->feed_count = feed_count;
        step->slot_count = slot_count;
        step->slots = (SlotRun *)(void *)(step->feeds + feed_count);
        step->reports = (SlotReport *)(void *)(step->slots + slot_count);
    }
    return step;
}

StepRun *
step_start(Dispatcher *dispatcher, const StepRunOptions *options, const StepEvents *events, void *context)
{
    assert(options->plan->partition_count <= SLOT_COUNT_MAX);

    StepRun *step = step_new(options->feed_count, options->plan->partition_count);
    bool *is_delivered = memory_new(options->plan->fetch_count + 1, sizeof *is_delivered);
    bool *holds_feed = options->is_partial ? memory_new(options->feed_count + 1, sizeof *holds_feed) : NULL;
    bool has_room = step != NULL && is_delivered != NULL && (!options->is_partial || holds_feed != NULL);
    if (!has_room || !step_copy_pins(step, options)) {
        memory_free(step);
        memory_free(is_delivered);
        memory_free(holds_feed);
        return NULL;
    }
    step->holds_feed = holds_feed;
    step->dispatcher = dispatcher;
    step->events = events;
    step->context = context;
    step->slot_events = &slot_events;
    step->plan = plan_ref(options->plan);
    step->id = options->id;
    step->payer = options->payer;
    step->started_ns = clock_monotonic_ns();
    step->deadline_ns = options->deadline_ns;
    step->is_pure = options->is_pure && !options->is_partial;
    step->is_partial = options->is_partial;
    step->traces_nodes = options->traces_nodes;
    step->memory_limit = options->memory_limit;
    step->only_registers = options->only_registers;
    step->holds_outputs = options->holds_outputs;
    step->is_once = options->is_once;
    step->holder = options->holder;
    step->began_ns = options->began_ns;
    step->awaits_feeds = options->awaits_feeds;
    step->priority = options->priority;
    step->attempt = options->attempt_base + 1;
    step->attempt_last = options->attempt_base + STEP_ATTEMPT_MAX;
    step->is_delivered = is_delivered;
    id_to_text("stp", options->id.value, step->id_text);
    (void)snprintf(step->tenant, sizeof step->tenant, "%s", options->tenant);
    (void)snprintf(step->session, sizeof step->session, "%s", options->session);
    (void)snprintf(step->request_id, sizeof step->request_id, "%s", options->request_id);
    if (options->worker_labels != NULL) {
        (void)snprintf(step->worker_labels, sizeof step->worker_labels, "%s", options->worker_labels);
    }
    for (size_t index = 0; index < options->feed_count; index++) {
        step->feeds[index] = tensor_ref(&options->feeds[index]);
    }
    list_append(&dispatcher->steps, &step->link);
    dispatcher->step_count++;
    if (!step->only_registers) {
        metrics_step_begin();
    }
    step->timer.fire = deadline_passed;
    timer_set(dispatcher->loop, &step->timer, options->deadline_ns + DEADLINE_GRACE_MS * CLOCK_NS_PER_MS);
    if (step->awaits_feeds) {
        step->start.run = feed_deferred;
        loop_defer(dispatcher->loop, &step->start);
    } else {
        enter_pool(step);
    }
    return step;
}

void
step_feed(StepRun *step, size_t feed, const Tensor *tensor)
{
    assert((step->is_partial || step->awaits_feeds) && step->feeds[feed].dtype == DTYPE_INVALID);

    step->feeds[feed] = tensor_ref(tensor);
    if (step->rests) {
        turn_hold_feed(step, feed);
    } else {
        slots_feed(step, feed);
    }
}

bool
step_lacks_place(const StepRun *step)
{
    return admission_lacks_place(&step->ticket);
}

void
step_feed_begin(StepRun *step, size_t feed, const Tensor *described)
{
    assert(step->awaits_feeds && step->fed.left == 0 && step->feeds[feed].dtype == DTYPE_INVALID);

    uint64_t size = tensor_byte_size(described);
    step->fed = (PassedFeed){.has_any = true, .feed = feed, .left = size, .padding = frame_padding(size)};
    for (size_t index = 0; index < step->slot_count; index++) {
        slot_feed_begin(&step->slots[index], feed, described);
    }
}

static void
send_feed_bytes(StepRun *step, Slice bytes)
{
    for (size_t index = 0; index < step->slot_count && bytes.size > 0; index++) {
        slot_feed_bytes(&step->slots[index], step->fed.feed, bytes);
    }
}

void
step_feed_piece(StepRun *step, Slice bytes)
{
    assert(step->awaits_feeds && bytes.size > 0 && bytes.size <= step->fed.left);

    send_feed_bytes(step, bytes);
    step->fed.left -= bytes.size;
    if (step->fed.left == 0) {
        send_feed_bytes(step, slice_of("\0\0\0\0\0\0\0", step->fed.padding));
    }
}

bool
step_feeds_must_wait(const StepRun *step)
{
    bool is_ready = !step->is_restarting;
    for (size_t index = 0; index < step->slot_count; index++) {
        is_ready = is_ready && slot_takes_feeds(&step->slots[index]);
    }
    return !is_ready && !step->is_ending;
}

void
step_feeds_end(StepRun *step, uint64_t deadline_ns)
{
    assert(step->awaits_feeds && step->fed.has_any && step->fed.left == 0);

    if (step->is_ending) {
        return;
    }
    if (deadline_ns < step->deadline_ns) {
        step->deadline_ns = deadline_ns;
        timer_set(step->dispatcher->loop, &step->timer, deadline_ns + DEADLINE_GRACE_MS * CLOCK_NS_PER_MS);
    }
    enter_pool(step);
}

static void
slots_each(StepRun *step, void (*act)(SlotRun *slot))
{
    for (size_t index = 0; index < step->slot_count; index++) {
        if (step->slots[index].call != NULL) {
            act(&step->slots[index]);
        }
    }
}

void
step_pause(StepRun *step)
{
    step->is_paused = true;
    admission_yield(&step->ticket); /* what its client does not read keeps nobody from the devices */
    slots_each(step, slot_match_pace);
}

void
step_resume(StepRun *step)
{
    step->is_paused = false;
    slots_each(step, slot_match_pace);
}

void
step_ask_outputs(StepRun *step)
{
    slots_each(step, slot_ask);
}

void
step_widen(StepRun *step)
{
    SlotRun *slot = step->passing.slot;
    if (slot != NULL && slot->call != NULL) {
        upstream_widen(slot->call);
    }
}

void
step_fail(StepRun *step, const Failure *failure)
{
    step_end(step, failure);
}

void
step_cancel(StepRun *step, const char *why)
{
    Failure failure = failure_of(STATUS_CANCELLED, (Slice){0}, "%s", why);
    step_end(step, &failure);
}
