/* RunGraph: runs one slot of one attempt of a step.
 *
 * Happy path: the HEADER frame names the partition and the peers → TENSOR frames bring the feeds →
 * finish_body() joins the step's rendezvous, if other slots take part, and starts the run → outputs are
 * written as they are produced → the STATUS and STATS frames end the answer.
 *
 * A partial run starts with its header; each feed goes to the run when it arrives. Whenever all its nodes
 * wait, a STATS frame tells that the run rests, so that it keeps no slot of the pool.
 *
 * A run that finds too little memory, because other runs hold it, waits for a moment and tries again.
 *
 * A run that has ended well waits until its peers have taken what it sent them: a value that did not arrive
 * fails it after all.
 *
 * A run that is to be made once claims its slot first (outcome_table.h). It goes on when its gateway is gone,
 * and whoever sends the step again waits for its end and gets that.
 *
 * Failures: an unknown partition is answered with one STATUS frame as soon as the header is in. A stream
 * that is reset cancels the run. So does the deadline, and the answer then names the nodes that waited; a
 * kernel that does not return soon after it is not waited for.
 *
 * Callbacks of the run come on any thread: they queue what happened and post one task to the stream's
 * loop. What happens inside run_start() is written when that returns. */
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/base/text.h"
#include "shared/base/uuid.h"
#include "worker/runtime/device_memory.h"
#include "worker/runtime/run/run.h"
#include "worker/serve/method.h"
#include "worker/serve/metrics.h"
#include "worker/serve/run_claim.h"
#include "worker/serve/run_trace.h"
#include "worker/serve/step_table.h"
#include "worker/serve/worker.h"

/* Joins the step; leaves *ret_entry alone when no other slot takes part. The caller must release
 * *ret_entry after a failure too. */
static Status
run_enter_step(WorkerRequest *request, const WireRun *header, StepEntry **ret_entry)
{
    StepClaim claim = {
        .step = request->parameters[0],
        .slot = header->slot,
        .attempt = header->attempt,
        .push_token = header->push_token,
        .deadline_ns = request->call.deadline_ns,
        .now_ns = loop_now_ns(request->loop->loop),
    };
    if (claim.push_token.size == 0) {
        return STATUS_OK;
    }
    TRY(step_table_enter(&request->call, request->worker->steps, &claim, ret_entry));
    TransportStep *transport =
        transport_step_new(request->loop->transport, claim.step, header, claim.deadline_ns);
    if (transport == NULL) {
        return call_fail_memory(&request->call, "the peers of a step");
    }
    if (!step_entry_attach(*ret_entry, transport)) {
        transport_step_unref(transport);
        return call_fail(&request->call, STATUS_ABORTED, "slot %lld of this attempt has been run already",
            (long long)claim.slot);
    }
    return STATUS_OK;
}

static void
run_answer_status(WorkerRequest *request, const WireStatus *status)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    wire_status_write(&json, status);
    frame_write_json(&frame, FRAME_STATUS, buffer_slice(&json));
    worker_frames_begin(request);
    worker_frames_write(request, buffer_slice(&frame));
}

static void
run_answer_stats(WorkerRequest *request, const WireStats *stats)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    wire_stats_write(&json, stats);
    frame_write_json(&frame, FRAME_STATS, buffer_slice(&json));
    worker_frames_write(request, buffer_slice(&frame));
}

static void
run_answer_rest(WorkerRequest *request, const WireRest *rest)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    wire_rest_write(&json, rest);
    frame_write_json(&frame, FRAME_STATS, buffer_slice(&json));
    worker_frames_begin(request);
    worker_frames_write(request, buffer_slice(&frame));
}

/* Writes an output; `tensor` NULL: it is dead. */
static void
run_answer_output(WorkerRequest *request, uint32_t index, const Tensor *tensor)
{
    char name[24];
    int size = snprintf(name, sizeof name, "%u", index);
    worker_frames_begin(request);
    if (tensor != NULL) {
        worker_frames_tensor(request, slice_of(name, (size_t)size), tensor);
        return;
    }
    AUTO_BUFFER frame = {0};
    frame_write_dead(&frame, slice_of(name, (size_t)size));
    worker_frames_write(request, buffer_slice(&frame));
}

/* Writes a whole answer: the partition of this digest is not registered here. */
static void
run_answer_unknown(WorkerRequest *request, Slice digest)
{
    WireStatus status = {
        .failure = failure_of(
            STATUS_NOT_FOUND, (Slice){0}, "partition %.*s is not registered here", SLICE_PRINT(digest)),
        .reason = SLICE(WIRE_REASON_UNKNOWN_PARTITION),
    };
    run_answer_status(request, &status);
    worker_frames_end(request);
}

enum {
    UNFINISHED_WAIT_MS = 20, /* time after the deadline for the run to end with its statistics */
    ROOM_WAIT_MS = 1000,     /* time to wait for memory that other runs hold */
    ROOM_POLL_MS = 5,
    OUTCOME_POLL_MS = 20,
};

typedef struct GraphRun {
    WorkerRequest *request; /* NULL after the stream has closed */
    Worker *worker;
    Loop *loop;
    Partition *partition;
    StepEntry *entry;         /* NULL when no other slot takes part */
    ResourceContainer *state; /* container of the session; NULL: it keeps nothing here */
    Run *run;
    WireRun header;
    Tensor *args;
    int64_t arg_count;      /* feeds that have arrived */
    bool is_claimed;        /* its outcome is remembered */
    OutcomeKey key;         /* of a claimed run */
    bool is_told_to_rest;   /* the gateway takes the run for one that rests */
    uint64_t room_until_ns; /* time to stop waiting for memory; 0: has not waited */
    Timer deadline;
    Task task;
    TransportWait sent;   /* until the peers have what the run sent them */
    bool waits_for_peers; /* it has ended well but for that */

    Mutex lock; /* guards the members below */
    RunOutput *outputs;
    RunOutput **outputs_end;
    bool is_posted;
    bool has_rested; /* the run has begun or ceased to rest; not told yet */
    bool is_done;
    bool has_lost_output; /* an output could not be queued for lack of memory */
    Failure failure;      /* STATUS_OK: none */
    WireStats stats;
    Buffer trace; /* JSON; empty when no trace is wanted */
} GraphRun;

static void
graph_run_free(GraphRun *graph_run)
{
    timer_clear(graph_run->loop, &graph_run->deadline);
    if (graph_run->is_claimed) {
        outcome_table_withdraw(graph_run->worker->outcomes, &graph_run->key);
    }
    run_outputs_free(graph_run->outputs);
    for (int64_t index = 0; graph_run->args != NULL && index < graph_run->header.feed_count; index++) {
        tensor_unref(&graph_run->args[index]);
    }
    memory_free(graph_run->args);
    buffer_done(&graph_run->trace);
    step_entry_unref(graph_run->entry);
    container_unref(graph_run->state);
    run_unref(graph_run->run);
    partition_unref(graph_run->partition);
    mutex_done(&graph_run->lock);
    (void)atomic_sub_relaxed(&graph_run->worker->accepted_count, 1);
    memory_free(graph_run);
}

/* A run that failed because a peer is out of reach names it, so that the gateway does not blame this
 * worker. */
static WireStatus
describe_end(const GraphRun *graph_run)
{
    WireStatus status = {.failure = graph_run->failure};
    const char *lost_peer = graph_run->entry == NULL ? NULL : step_entry_lost_peer(graph_run->entry);
    if (status.failure.code == STATUS_UNAVAILABLE && lost_peer != NULL) {
        status.lost_peer = slice_from_string(lost_peer);
    }
    return status;
}

static void
graph_run_end(GraphRun *graph_run)
{
    WorkerRequest *request = graph_run->request;
    (void)atomic_sub_relaxed(&graph_run->worker->running_count, 1);
    if (request != NULL) {
        WireStatus status = describe_end(graph_run);
        request->context = NULL;
        metrics_count_tensor(TENSOR_FETCHED, (size_t)graph_run->stats.bytes_out);
        run_answer_status(request, &status);
        graph_run->stats.trace =
            buffer_is_ok(&graph_run->trace) ? buffer_slice(&graph_run->trace) : (Slice){0};
        run_answer_stats(request, &graph_run->stats);
        worker_frames_end(request);
    }
    metrics_count_run(graph_run->failure.code, graph_run->stats.elapsed_us);
    graph_run_free(graph_run);
}

/* Returns whether a run that is done has ended; else it waits for its peers, as one does not whose end nobody
 * will hear of. */
static bool
settle_run(GraphRun *graph_run)
{
    bool is_heard = graph_run->request != NULL || graph_run->is_claimed;
    if (graph_run->entry == NULL || graph_run->failure.code != STATUS_OK || !is_heard) {
        return true;
    }
    graph_run->waits_for_peers = !step_entry_settle(graph_run->entry, &graph_run->sent);
    if (!graph_run->waits_for_peers) {
        graph_run->failure = step_entry_failure(graph_run->entry);
    }
    return !graph_run->waits_for_peers;
}

/* Takes the queued outputs that may be sent now; all of them when the run is done. */
static RunOutput *
take_outputs(GraphRun *graph_run, bool *ret_has_rested, bool *ret_is_done)
{
    RunOutput *outputs = NULL;
    mutex_lock(&graph_run->lock);
    graph_run->is_posted = false;
    *ret_has_rested = TAKE(graph_run->has_rested);
    *ret_is_done = graph_run->is_done && settle_run(graph_run);
    if (*ret_is_done || !(graph_run->header.holds_outputs || graph_run->is_claimed)) {
        outputs = graph_run->outputs;
        graph_run->outputs = NULL;
        graph_run->outputs_end = &graph_run->outputs;
    }
    mutex_unlock(&graph_run->lock);
    return outputs;
}

/* Tells the gateway whether the run rests. Feeds come on this thread only: with those that are counted here
 * it rests or does not, whatever thread has noted what since. */
static void
tell_rest(GraphRun *graph_run)
{
    WireRest rest = {
        .rests = run_rests(graph_run->run),
        .feed_count = graph_run->arg_count,
        .computed_us = (int64_t)(run_computed_ns(graph_run->run) / CLOCK_NS_PER_US),
    };
    if (rest.rests || graph_run->is_told_to_rest) {
        run_answer_rest(graph_run->request, &rest);
    }
    graph_run->is_told_to_rest = rest.rests;
}

static void
judge_outputs(GraphRun *graph_run)
{
    if (graph_run->has_lost_output && graph_run->failure.code == STATUS_OK) {
        graph_run->failure =
            failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for an output");
    }
}

/* Remembers how a claimed run has ended, with its outputs. */
static void
keep_outcome(GraphRun *graph_run, RunOutput *outputs)
{
    RunEnd end = {.failure = graph_run->failure, .stats = graph_run->stats, .outputs = outputs};
    outcome_table_end(graph_run->worker->outcomes, &graph_run->key, clock_monotonic_ns(), &end);
    graph_run->is_claimed = false;
}

/* Writes the queued outputs, and the end of the answer when the run is done. Outputs that were held back for
 * a good end are dropped at another. */
static void
graph_run_flush(GraphRun *graph_run)
{
    bool has_rested = false;
    bool is_done = false;
    RunOutput *outputs = take_outputs(graph_run, &has_rested, &is_done);
    if (is_done) {
        judge_outputs(graph_run);
    }
    bool is_wanted = graph_run->request != NULL &&
                     !(graph_run->header.holds_outputs && graph_run->failure.code != STATUS_OK);
    for (const RunOutput *output = outputs; output != NULL && is_wanted; output = output->next) {
        run_answer_output(graph_run->request, output->index, output->is_dead ? NULL : &output->tensor);
    }
    if (is_done && graph_run->is_claimed) {
        keep_outcome(graph_run, outputs);
    } else {
        run_outputs_free(outputs);
    }
    if (is_done) {
        graph_run_end(graph_run);
    } else if (has_rested && graph_run->request != NULL) {
        tell_rest(graph_run);
    }
}

static void
flush_sent(TransportWait *wait)
{
    graph_run_flush((GraphRun *)(void *)((char *)wait - offsetof(GraphRun, sent)));
}

static void
flush_on_loop(Task *task)
{
    graph_run_flush((GraphRun *)(void *)((char *)task - offsetof(GraphRun, task)));
}

/* Returns whether the caller must post the task after unlocking. The lock must be held. */
static bool
claim_post(GraphRun *graph_run)
{
    bool must_post = !graph_run->is_posted;
    graph_run->is_posted = true;
    return must_post;
}

static void
run_output(void *context, uint32_t index, Tensor *tensor, bool is_dead)
{
    GraphRun *graph_run = context;
    RunOutput *output = memory_new(1, sizeof *output);
    if (output == NULL) {
        mutex_lock(&graph_run->lock);
        graph_run->has_lost_output = true;
        mutex_unlock(&graph_run->lock);
        return;
    }
    output->index = index;
    output->is_dead = is_dead;
    output->tensor = *tensor;
    *tensor = (Tensor){0};
    mutex_lock(&graph_run->lock);
    *graph_run->outputs_end = output;
    graph_run->outputs_end = &output->next;
    graph_run->stats.bytes_out += is_dead ? 0 : (int64_t)tensor_byte_size(&output->tensor);
    bool must_post = claim_post(graph_run);
    mutex_unlock(&graph_run->lock);
    if (must_post) {
        loop_post(graph_run->loop, &graph_run->task);
    }
}

static void
run_rested(void *context)
{
    GraphRun *graph_run = context;
    mutex_lock(&graph_run->lock);
    graph_run->has_rested = true;
    bool must_post = claim_post(graph_run);
    mutex_unlock(&graph_run->lock);
    if (must_post) {
        loop_post(graph_run->loop, &graph_run->task);
    }
}

static void
run_done(void *context, const RunResult *result)
{
    GraphRun *graph_run = context;
    run_trace_write(&graph_run->trace, graph_run->partition, &result->stats);
    mutex_lock(&graph_run->lock);
    graph_run->is_done = true;
    graph_run->failure = *result->failure;
    graph_run->stats.elapsed_us = (int64_t)(result->stats.elapsed_ns / CLOCK_NS_PER_US);
    graph_run->stats.computed_us =
        (int64_t)((result->stats.computed_ns + CLOCK_NS_PER_US - 1) / CLOCK_NS_PER_US);
    graph_run->stats.node_count = (int64_t)result->stats.node_count;
    graph_run->stats.planned_bytes = (int64_t)result->stats.planned_bytes;
    graph_run->stats.peak_bytes = (int64_t)result->stats.peak_bytes;
    bool must_post = claim_post(graph_run);
    mutex_unlock(&graph_run->lock);
    if (must_post) {
        loop_post(graph_run->loop, &graph_run->task);
    }
}

/* Ends a run that waits for its peers, unless somebody is to hear of its end. */
static void
stop_waiting(GraphRun *graph_run)
{
    if (graph_run->waits_for_peers) {
        step_entry_forget(graph_run->entry);
        graph_run_flush(graph_run);
    }
}

/* Answers before the run has ended, because a kernel has not returned, which the failure names, or a peer has
 * not taken what was sent to it. The end of the run is ignored when it comes. */
static void
answer_unfinished(Timer *timer)
{
    GraphRun *graph_run = (GraphRun *)(void *)((char *)timer - offsetof(GraphRun, deadline));
    WorkerRequest *request = graph_run->request;
    if (request == NULL) {
        return;
    }
    WireStatus status = {.failure = run_failure(graph_run->run)};
    if (graph_run->waits_for_peers) {
        status.failure = failure_of(STATUS_DEADLINE_EXCEEDED, (Slice){0},
            "the deadline has passed; waiting: other slots have not taken what was sent to them");
    }
    if (status.failure.code == STATUS_OK) {
        return; /* the run has just ended, and its result is in the mailbox */
    }
    graph_run->request = NULL;
    request->context = NULL;
    run_answer_status(request, &status);
    worker_frames_end(request);
    stop_waiting(graph_run);
}

static void
deadline_passed(Timer *timer)
{
    GraphRun *graph_run = (GraphRun *)(void *)((char *)timer - offsetof(GraphRun, deadline));
    run_cancel(graph_run->run, STATUS_DEADLINE_EXCEEDED, "the deadline has passed");
    graph_run->deadline.fire = answer_unfinished;
    timer_set(graph_run->loop, &graph_run->deadline,
        loop_now_ns(graph_run->loop) + UNFINISHED_WAIT_MS * CLOCK_NS_PER_MS);
}

/* Returns the limit for the run in bytes, 0: none. The session can lower the worker's limit, not raise it. */
static uint64_t
memory_limit(const GraphRun *graph_run)
{
    uint64_t own = graph_run->worker->options.step_memory;
    uint64_t wanted = (uint64_t)graph_run->header.memory_limit;
    return own == 0 || (wanted != 0 && wanted < own) ? wanted : own;
}

/* Returns whether this is the only open request and the first run in this turn of the loop. Requests that
 * have arrived but are not read yet cannot be known. */
static bool
is_loop_idle(WorkerLoop *loop)
{
    uint64_t now_ns = loop_now_ns(loop->loop);
    bool is_first = loop->run_ns != now_ns;
    loop->run_ns = now_ns;
    return is_first && loop->request_count == 1;
}

static Status start_run(GraphRun *graph_run);

static void
start_again(Timer *timer)
{
    GraphRun *graph_run = (GraphRun *)(void *)((char *)timer - offsetof(GraphRun, deadline));
    WorkerRequest *request = graph_run->request;
    if (start_run(graph_run) != STATUS_OK) {
        worker_refuse(request, &request->call);
    }
}

/* Sets the timer for another attempt, because most runs soon free their memory. False: the run has waited
 * long enough. */
static bool
wait_for_room(GraphRun *graph_run)
{
    uint64_t now_ns = loop_now_ns(graph_run->loop);
    uint64_t again_ns = now_ns + ROOM_POLL_MS * CLOCK_NS_PER_MS;
    uint64_t deadline_ns = graph_run->request->call.deadline_ns;
    if (graph_run->room_until_ns == 0) {
        graph_run->room_until_ns = now_ns + ROOM_WAIT_MS * CLOCK_NS_PER_MS;
    }
    if (again_ns > graph_run->room_until_ns || (deadline_ns != 0 && again_ns > deadline_ns)) {
        return false;
    }
    (void)device_make_room(graph_run->worker->device); /* what nobody uses may be what is too much */
    graph_run->deadline.fire = start_again;
    timer_set(graph_run->loop, &graph_run->deadline, again_ns);
    return true;
}

static Status
start_run(GraphRun *graph_run)
{
    Call *call = &graph_run->request->call;
    bool is_crowded = false;
    RunRequest run = {
        .partition = graph_run->partition,
        .args = graph_run->args,
        .arg_count = (uint32_t)graph_run->header.feed_count,
        .rendezvous = graph_run->entry == NULL ? NULL : graph_run->entry->rendezvous,
        .container = graph_run->state,
        .memory_limit = memory_limit(graph_run),
        .tenant = tenant_number(graph_run->request->tenant),
        .open_size = graph_run->header.open_size,
        .deadline_ns = call->deadline_ns,
        .is_crowded = &is_crowded,
        .caller_is_idle = is_loop_idle(graph_run->request->loop),
        .traces_nodes = graph_run->header.has_trace,
        .feeds_come_late = graph_run->header.is_partial,
        .callbacks = {.context = graph_run,
            .on_output = run_output,
            .on_rest = run_rested,
            .on_done = run_done},
    };
    /* Nothing is posted from inside run_start(): graph_run_flush() below writes it. */
    graph_run->is_posted = true;
    Status status = run_start(call, &run, &graph_run->run);
    if (status != STATUS_OK) {
        return is_crowded && wait_for_room(graph_run) ? STATUS_OK : status;
    }
    (void)atomic_add_relaxed(&graph_run->worker->running_count, 1);
    if (call->deadline_ns != 0) {
        graph_run->deadline.fire = deadline_passed;
        timer_set(graph_run->loop, &graph_run->deadline, call->deadline_ns);
    }
    graph_run_flush(graph_run);
    return STATUS_OK;
}

/* Returns whether a run that ended so was stopped by others, and says nothing of what it was to compute. */
static bool
was_broken_off(const Failure *failure)
{
    return failure->code == STATUS_CANCELLED || failure->code == STATUS_ABORTED ||
           failure->code == STATUS_UNAVAILABLE;
}

/* Answers a run that was made before with its end. */
static void
repeat_end(WorkerRequest *request, RunEnd *end)
{
    WireStatus status = {.failure = end->failure};
    if (was_broken_off(&end->failure)) {
        status.reason = SLICE(WIRE_REASON_BROKEN_OFF);
    }
    if (end->lacks_outputs && end->failure.code == STATUS_OK) {
        status.failure = failure_of(STATUS_FAILED_PRECONDITION, (Slice){0},
            "the step has been run; its outputs were too large to be remembered for another gateway");
    }
    for (const RunOutput *output = end->outputs; output != NULL; output = output->next) {
        run_answer_output(request, output->index, output->is_dead ? NULL : &output->tensor);
    }
    run_outputs_free(TAKE(end->outputs));
    run_answer_status(request, &status);
    run_answer_stats(request, &end->stats);
    graph_run_free(TAKE(request->context));
    worker_frames_end(request);
}

static void claim_again(Timer *timer);

/* Waits for the end of the run that was made for another gateway. */
static Status
wait_for_outcome(GraphRun *graph_run)
{
    uint64_t now_ns = loop_now_ns(graph_run->loop);
    TRY(call_check(&graph_run->request->call, now_ns));
    graph_run->deadline.fire = claim_again;
    timer_set(graph_run->loop, &graph_run->deadline, now_ns + OUTCOME_POLL_MS * CLOCK_NS_PER_MS);
    return STATUS_OK;
}

/* Claims the slot; *ret_goes_on: nobody has run it, so it is run now. Else it is answered, perhaps later. */
static Status
claim_run(WorkerRequest *request, GraphRun *graph_run, bool *ret_goes_on)
{
    RunEnd end;
    OutcomeClaim claim;
    *ret_goes_on = false;
    TRY(run_claim_describe(request, &graph_run->header, graph_run->state, &claim));
    OutcomeAnswer answer = outcome_table_claim(request->worker->outcomes, &claim, &end);
    if (answer == OUTCOME_RUNNING) {
        return wait_for_outcome(graph_run);
    }
    if (answer == OUTCOME_ENDED) {
        repeat_end(request, &end);
        return STATUS_OK;
    }
    TRY(answer == OUTCOME_FRESH ? STATUS_OK : run_claim_refuse(&request->call, answer));
    graph_run->key = claim.key;
    graph_run->is_claimed = true;
    *ret_goes_on = true;
    return STATUS_OK;
}

/* Goes on with a run that may be made: not before one that is to be made once has its claim. */
static Status
claim_and_start(WorkerRequest *request, GraphRun *graph_run)
{
    bool goes_on = true;
    if (graph_run->header.is_once) {
        TRY(claim_run(request, graph_run, &goes_on));
    }
    if (!goes_on) {
        return STATUS_OK;
    }
    TRY(run_enter_step(request, &graph_run->header, &graph_run->entry));
    return start_run(graph_run);
}

static void
claim_again(Timer *timer)
{
    GraphRun *graph_run = (GraphRun *)(void *)((char *)timer - offsetof(GraphRun, deadline));
    WorkerRequest *request = graph_run->request;
    if (claim_and_start(request, graph_run) != STATUS_OK) {
        worker_refuse(request, &request->call);
    }
}

static Status
launch_run(WorkerRequest *request, GraphRun *graph_run)
{
    TRY(run_claim_find_state(request, &graph_run->header, &graph_run->state));
    return claim_and_start(request, graph_run);
}

/* Reads the header and makes the run, which stays in request->context. None when the partition is unknown. */
static Status
make_run(WorkerRequest *request, const Frame *frame)
{
    Call *call = &request->call;
    WireRun header;
    /* The bytes of the frame are valid until the next read, but the header's texts point into them. */
    const char *json = text_copy(call->arena, frame->json);
    if (json == NULL) {
        return call_fail_memory(call, "a run");
    }
    TRY(wire_run_read(call, slice_of(json, frame->json.size), &header));
    CacheKey key = {.tenant = request->tenant, .digest = header.partition};
    Partition *partition = cache_get(request->worker->partitions, key);
    if (partition == NULL) {
        run_answer_unknown(request, header.partition);
        return STATUS_OK;
    }
    GraphRun *graph_run = memory_new(1, sizeof *graph_run);
    Tensor *args = memory_new((size_t)header.feed_count + 1, sizeof *args);
    if (graph_run == NULL || args == NULL) {
        memory_free(graph_run);
        memory_free(args);
        partition_unref(partition);
        return call_fail_memory(call, "a run");
    }
    *graph_run = (GraphRun){
        .request = request,
        .worker = request->worker,
        .loop = request->loop->loop,
        .partition = partition,
        .header = header,
        .args = args,
    };
    graph_run->outputs_end = &graph_run->outputs;
    graph_run->task.run = flush_on_loop;
    graph_run->sent.done = flush_sent;
    mutex_init(&graph_run->lock);
    request->context = graph_run;
    return STATUS_OK;
}

/* Accepts the run, unless the worker drains. It is counted first: either it sees that the worker drains, or
 * the worker sees it and stays open to the run's peers. */
static Status
take_header(WorkerRequest *request, const Frame *frame)
{
    Worker *worker = request->worker;
    Call *call = &request->call;
    (void)atomic_add_seq_cst(&worker->accepted_count, 1);
    Status status = atomic_load_seq_cst(&worker->is_draining)
                        ? call_fail(call, STATUS_UNAVAILABLE, "worker '%s' is draining", worker->name)
                        : make_run(request, frame);
    GraphRun *graph_run = request->context;
    if (graph_run == NULL) {
        (void)atomic_sub_relaxed(&worker->accepted_count, 1);
        return status;
    }
    return graph_run->header.is_partial ? launch_run(request, graph_run) : STATUS_OK;
}

static Status
take_feed(WorkerRequest *request, Frame *frame)
{
    GraphRun *graph_run = request->context;
    AUTO_TENSOR tensor = frame->tensor;
    int64_t index = 0;
    bool is_index = slice_to_int64(frame->name, &index) && index < graph_run->header.feed_count;
    if (!is_index || index < 0 || graph_run->args[index].dtype != DTYPE_INVALID) {
        return call_fail(&request->call, STATUS_INVALID_ARGUMENT,
            "feed '%.*s' is none of the %lld feeds that the header announced, or has come twice",
            SLICE_PRINT(frame->name), (long long)graph_run->header.feed_count);
    }
    size_t size = tensor_byte_size(&tensor);
    metrics_count_tensor(TENSOR_FED, size);
    graph_run->stats.bytes_in += (int64_t)size;
    graph_run->arg_count++;
    if (graph_run->run != NULL) {
        graph_run->is_told_to_rest = false;
        return run_feed(&request->call, graph_run->run, (uint32_t)index, &tensor);
    }
    graph_run->args[index] = tensor;
    tensor = (Tensor){0};
    return STATUS_OK;
}

/* Cancels a run that has begun when its request's body turns out to be wrong; the run then answers. */
static bool
cancel_running(WorkerRequest *request, Status status)
{
    const GraphRun *graph_run = request->context;
    if (graph_run == NULL || graph_run->run == NULL) {
        return false;
    }
    run_cancel(graph_run->run, status, request->call.error.message);
    return true;
}

static Status
take_frame(WorkerRequest *request, Frame *frame)
{
    if (frame->kind == FRAME_HEADER && request->context == NULL) {
        return take_header(request, frame);
    }
    if (frame->kind == FRAME_TENSOR && request->context != NULL) {
        return take_feed(request, frame);
    }
    tensor_unref(&frame->tensor);
    return call_fail(&request->call, STATUS_INVALID_ARGUMENT,
        "frame kind %d has no place here: a run is one header"
        " frame, then its feeds",
        (int)frame->kind);
}

static Status
finish_body(WorkerRequest *request)
{
    GraphRun *graph_run = request->context;
    Call *call = &request->call;
    if (graph_run == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the body holds no header frame");
    }
    if (graph_run->arg_count != graph_run->header.feed_count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld of %lld announced feeds have come",
            (long long)graph_run->arg_count, (long long)graph_run->header.feed_count);
    }
    return graph_run->run == NULL ? launch_run(request, graph_run) : STATUS_OK;
}

/* Returns whether a claimed run goes on though its stream has ended: the connection was lost, perhaps with
 * the gateway, and nobody has cancelled the step. */
static bool
is_let_go_on(const WorkerRequest *request, const GraphRun *graph_run)
{
    return graph_run->is_claimed && request->end_reason == STATUS_UNAVAILABLE &&
           !atomic_load_seq_cst(&graph_run->worker->is_draining);
}

static void
forget_request(WorkerRequest *request)
{
    GraphRun *graph_run = request->context;
    if (graph_run == NULL) {
        return;
    }
    graph_run->request = NULL;
    if (graph_run->run == NULL) {
        graph_run_free(graph_run);
    } else if (!is_let_go_on(request, graph_run)) {
        run_cancel(graph_run->run, STATUS_CANCELLED, "the caller gave up");
        /* The gateway may be gone and send no CleanupGraph: tensors that other slots have parked here are
         * freed now. */
        step_table_cleanup(graph_run->worker->steps, request->parameters[0], graph_run->header.attempt);
        if (request->end_reason == STATUS_UNAVAILABLE && graph_run->entry != NULL) {
            step_entry_end_peers(graph_run->entry); /* the attempt cannot end well without this run */
        }
        stop_waiting(graph_run);
    }
}

WORKER_METHOD(run_graph) = {
    .name = "RunGraph",
    .verb = "POST",
    .path = "/worker/v1/steps/{step}:run",
    .body = BODY_FRAMES,
    .frame = take_frame,
    .finish = finish_body,
    .take_failure = cancel_running,
    .closed = forget_request,
};
