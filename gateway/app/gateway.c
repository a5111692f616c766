#include "gateway/app/gateway.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gateway/app/loop_server.h"
#include "gateway/app/metrics.h"
#include "gateway/graphs/plan_obtain.h"
#include "gateway/partials/partial_run.h"
#include "gateway/steps/queued_step.h"
#include "gateway/steps/step_enqueue.h"
#include "gateway/store/migrate.h"
#include "gateway/store/workers.h"
#include "gateway/traces/trace_cache.h"
#include "gateway/workers/resolver.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum { CHECK_ARENA_SIZE_MAX = 1 << 20, RECORDS_FLUSH_MS = 5000 };

/* --- Job threads ---------------------------------------------------------------------------------------- */

Status
job_store(Call *call, JobContext *context, StoreRole role, Store **ret_store)
{
    if (context->stores[role] == NULL) {
        const StoreOptions options = {.conninfo = context->conninfo, .role = role};
        TRY(store_open(call, &options, &context->stores[role]));
    }
    *ret_store = context->stores[role];
    return STATUS_OK;
}

Status
request_store(Call *call, const Request *request, Store **ret_store)
{
    return job_store(call, request->job_context, STORE_ROLE_APP, ret_store);
}

static Status
job_context_new(Call *call, void *owner, void **ret_context)
{
    const Gateway *const gateway = owner;
    JobContext *const context = memory_new(1, sizeof *context);
    if (context == NULL) {
        return call_fail_memory(call, "a job thread");
    }
    context->conninfo = gateway->conninfo;
    *ret_context = context;
    return STATUS_OK;
}

static void
job_context_free(void *owner)
{
    JobContext *const context = owner;
    for (size_t role = 0; role < STORE_ROLE_COUNT; role++) {
        store_close(context->stores[role]);
    }
    memory_free(context);
}

/* --- Workers -------------------------------------------------------------------------------------------- */

/* A worker was seen: its task number, which its name keeps for ever, comes from the database. */
typedef struct TaskJob {
    Job job;
    Gateway *gateway;
    WorkerInfo worker;
    int32_t task;
    bool is_draining;
} TaskJob;

static void
task_find(Job *job, void *context)
{
    TaskJob *const task_job = (TaskJob *)(void *)job;
    AUTO_ARENA arena = arena_new(CHECK_ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + 10 * CLOCK_NS_PER_S};
    Store *store = NULL;
    WorkerRecord record;
    const WorkerRecord seen = {
        .name = task_job->worker.name,
        .address = task_job->worker.address,
        .incarnation = task_job->worker.incarnation,
    };
    const bool is_found = arena != NULL && job_store(&call, context, STORE_ROLE_QUEUE, &store) == STATUS_OK &&
                          workers_upsert(&call, store, &seen, &record) == STATUS_OK;
    if (is_found) {
        task_job->task = (int32_t)record.task;
        task_job->is_draining = record.is_draining;
    } else {
        log_failure(LOG_WARNING, "a worker's task number could not be looked up", &call);
    }
}

static void
task_found(Job *job)
{
    TaskJob *const task_job = (TaskJob *)(void *)job;
    if (task_job->task >= 0 && task_job->gateway->discovery != NULL) {
        Discovery *const discovery = task_job->gateway->discovery;
        discovery_set_draining(discovery, task_job->worker.name, task_job->is_draining);
        discovery_set_task(discovery, task_job->worker.name, task_job->task);
    }
    memory_free(task_job);
}

static void
worker_seen(void *context, const WorkerInfo *worker)
{
    Gateway *const gateway = context;
    TaskJob *const task_job = memory_new(1, sizeof *task_job);
    if (task_job == NULL) {
        return;
    }
    log_event(LOG_INFO, "worker found", log_text("worker", worker->name),
        log_text("address", worker->address), log_text("incarnation", worker->incarnation));
    const Job job = {.loop = gateway->loops[0]->loop, .run = task_find, .done = task_found};
    *task_job = (TaskJob){.job = job, .gateway = gateway, .worker = *worker, .task = -1};
    if (!job_submit(gateway->jobs, &task_job->job)) {
        memory_free(task_job);
    }
}

static void
name_due(void *context, size_t entry, Slice name_and_port)
{
    Gateway *const gateway = context;
    const ResolverTarget target = {
        .jobs = gateway->jobs,
        .loop = gateway->loops[0]->loop,
        .discovery = &gateway->discovery,
    };
    resolver_ask(&target, entry, name_and_port);
}

bool
gateway_has_worker(const Gateway *gateway)
{
    Roster *const roster = directory_take(gateway->directory);
    bool is_serving = false;
    for (size_t index = 0; index < roster->count; index++) {
        is_serving = is_serving || roster->workers[index].state == WORKER_SERVING;
    }
    roster_unref(roster);
    return is_serving;
}

/* --- The queue ------------------------------------------------------------------------------------------ */

static bool
queue_is_ready(void *context)
{
    const Gateway *const gateway = context;
    return !atomic_load_acquire(&gateway->is_draining) && gateway_has_worker(gateway);
}

static void
queue_cancel(void *context, int loop_index, const StepHold *hold)
{
    running_steps_cancel(context, loop_index, hold);
}

static void
queue_mail(void *context, const char *text)
{
    step_mail_receive(((const Gateway *)context)->mail, text);
}

static Status
queue_open(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    const QueueRunnerOptions queue = {
        .conninfo = options->conninfo,
        .owner = gateway->id,
        .slot_count = options->queue_slot_count,
        .lease_ms = options->queue_lease_ms,
        .is_ready = queue_is_ready,
        .run = queued_step_run,
        .cancel = queue_cancel,
        .mail = queue_mail,
        .context = gateway,
    };
    const UpkeepOptions upkeep = {
        .conninfo = options->conninfo,
        .owner = gateway->id,
        .history_days = options->history_days,
        .blob_age_ms = options->blob_age_ms,
    };
    TRY(queue_runner_new(call, &queue, &gateway->queue));
    return upkeep_new(call, &upkeep, &gateway->upkeep);
}

/* --- Loops ---------------------------------------------------------------------------------------------- */

static void
drain_check(Timer *timer)
{
    enum { CHECK_MS = 20 };
    GatewayLoop *const loop = (GatewayLoop *)(void *)((char *)timer - offsetof(GatewayLoop, drained));
    const size_t active = http_server_active(loop->server) + queue_runner_active(loop->gateway->queue);
    if (active == 0 || loop->grace_ms < CHECK_MS) {
        loop_stop(loop->loop);
        return;
    }
    loop->grace_ms -= CHECK_MS;
    timer_set(loop->loop, timer, loop_now_ns(loop->loop) + CHECK_MS * CLOCK_NS_PER_MS);
}

static void
drain_begin(Task *task)
{
    GatewayLoop *const loop = (GatewayLoop *)(void *)((char *)task - offsetof(GatewayLoop, drain));
    http_server_drain(loop->server);
    partial_runs_drain(loop);
    drain_check(&loop->drained);
}

static void
flush_log(Task *task)
{
    (void)task;
    log_flush();
}

static void
loop_close(GatewayLoop *loop)
{
    loop->is_closing = true;
    http_server_free(loop->server);
    dispatcher_free(loop->dispatcher);
    queued_steps_free(loop);
    buffer_done(&loop->scratch);
    loop_free(loop->loop);
    memory_free(loop);
}

static Status
loop_open(Call *call, Gateway *gateway, const GatewayOptions *options, const char *address)
{
    GatewayLoop *const loop = memory_new(1, sizeof *loop);
    if (loop == NULL) {
        return call_fail_memory(call, "a loop");
    }
    loop->index = gateway->loop_count;
    gateway->loops[gateway->loop_count++] = loop;
    loop->gateway = gateway;
    running_steps_init(&loop->running);
    list_init(&loop->queued);
    list_init(&loop->partials);
    loop->drain.run = drain_begin;
    loop->drained.fire = drain_check;
    loop->flush_log.run = flush_log;
    TRY(loop_new(call, &loop->loop));
    const UpstreamOptions upstream = {
        .token = options->worker_token,
        .frames.tensor_size_max = options->tensor_size_max,
    };
    loop->dispatcher = dispatcher_new(loop->loop, gateway->directory, &upstream);
    loop->records = recorder_ring(gateway->recorder, loop->loop);
    if (loop->dispatcher == NULL || loop->records == NULL) {
        return call_fail_memory(call, "a dispatcher");
    }
    return loop_server_open(call, loop, options, address);
}

/* One bind that does not share proves that the port is free; then all loops share it. */
static Status
loops_open(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    char address[ADDRESS_TEXT_SIZE];
    int probe = -1;
    TRY(socket_listen(call, options->listen, (ListenOptions){0}, &probe));
    socket_local_address(probe, address);
    socket_close(probe);
    for (int index = 0; index < options->loop_count; index++) {
        TRY(loop_open(call, gateway, options, address));
    }
    return STATUS_OK;
}

/* --- The gateway ---------------------------------------------------------------------------------------- */

/* Each job thread may open one for each role; the recorder, the runner and the listener have one each, the
 * upkeep two. */
static Status
connections_check(Call *call, Store *store, int job_thread_count)
{
    enum { OTHERS = 5 };
    const uint64_t wanted = (uint64_t)job_thread_count * STORE_ROLE_COUNT + OTHERS;
    uint64_t allowed = 0;
    TRY(store_connections_allowed(call, store, &allowed));
    return wanted <= allowed ? STATUS_OK
                             : call_fail(call, STATUS_FAILED_PRECONDITION,
                                   "with %d job threads the gateway may open %llu connections, PostgreSQL "
                                   "allows %llu: lower --job-threads or raise max_connections",
                                   job_thread_count, (unsigned long long)wanted, (unsigned long long)allowed);
}

static Status
database_check(Call *call, const GatewayOptions *options)
{
    AUTO_STORE store = NULL;
    const StoreOptions app = {.conninfo = options->conninfo, .role = STORE_ROLE_APP};
    TRY(store_open(call, &app, &store));
    TRY(migrate_check(call, store));
    return connections_check(call, store, options->job_thread_count);
}

static Status
open_parts(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    if (options->is_open && !address_is_loopback(options->listen)) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "--auth=off is refused on '%s': it is no loopback address", options->listen);
    }
    TRY(database_check(call, options));
    gateway->directory = directory_new();
    gateway->plans = plan_cache_new(options->plan_cache_size);
    gateway->graphs = graph_cache_new(options->graph_cache_size);
    gateway->traces = trace_cache_new(options->trace_cache_size);
    gateway->auth = auth_cache_new(options->pepper);
    gateway->mail = step_mail_new(gateway);
    gateway->partials = partial_table_new();
    if (gateway->directory == NULL || gateway->plans == NULL || gateway->graphs == NULL ||
        gateway->traces == NULL || gateway->auth == NULL || gateway->mail == NULL ||
        gateway->partials == NULL) {
        return call_fail_memory(call, "the gateway's caches");
    }
    graph_cache_on_evict(gateway->graphs, plans_forget, gateway->plans);
    const JobPoolOptions jobs = {
        .thread_count = options->job_thread_count,
        .context_new = job_context_new,
        .context_free = job_context_free,
        .owner = gateway,
    };
    const RecorderOptions recorder = {
        .conninfo = options->conninfo,
        .ring_size = options->record_ring_size,
    };
    TRY(job_pool_new(call, &jobs, &gateway->jobs));
    gateway->enqueuer = batcher_new(gateway->jobs, step_enqueue_batch);
    gateway->ender = batcher_new(gateway->jobs, queued_steps_end);
    if (gateway->enqueuer == NULL || gateway->ender == NULL) {
        return call_fail_memory(call, "what waits for the database");
    }
    TRY(recorder_new(call, &recorder, &gateway->recorder));
    TRY(loops_open(call, gateway, options));
    TRY(queue_open(call, gateway, options));
    const DiscoveryOptions discovery = {
        .addresses = options->workers,
        .address_count = options->worker_count,
        .upstream = {.token = options->worker_token, .frames.tensor_size_max = options->tensor_size_max},
        .on_seen = worker_seen,
        .on_resolve = name_due,
        .context = gateway,
    };
    TRY(discovery_start(call, gateway->loops[0]->loop, gateway->directory, &discovery, &gateway->discovery));
    metrics_watch(gateway);
    return worker_marks_start(call, gateway, &gateway->marks);
}

static void
identify(Gateway *gateway)
{
    char text[UUID_TEXT_SIZE];
    const Uuid id = uuid_new();
    uuid_to_text(id, text);
    memcpy(gateway->mark, &id.bytes[sizeof id.bytes - sizeof gateway->mark], sizeof gateway->mark);
    (void)snprintf(gateway->id, sizeof gateway->id, "gw_%s", text);
}

Status
gateway_open(Call *call, const GatewayOptions *options, Gateway **ret_gateway)
{
    Gateway *const gateway = memory_new(1, sizeof *gateway);
    if (gateway == NULL) {
        return call_fail_memory(call, "the gateway");
    }
    gateway->limits = options->limits;
    gateway->conninfo = options->conninfo;
    gateway->is_open = options->is_open;
    gateway->started_ns = clock_monotonic_ns();
    identify(gateway);
    const Status status = open_parts(call, gateway, options);
    if (status != STATUS_OK) {
        gateway_close(gateway);
        return status;
    }
    *ret_gateway = gateway;
    return STATUS_OK;
}

static void *
run_loop(void *context)
{
    GatewayLoop *const loop = context;
    loop_run(loop->loop);
    log_flush();
    return NULL;
}

void
gateway_run(Gateway *gateway)
{
    pthread_t threads[GATEWAY_LOOP_COUNT_MAX];
    int started = 1;
    while (started < gateway->loop_count &&
           pthread_create(&threads[started], NULL, run_loop, gateway->loops[started]) == 0) {
        started++;
    }
    /* A loop without a thread would accept connections and never serve them. */
    while (gateway->loop_count > started) {
        loop_close(gateway->loops[--gateway->loop_count]);
    }
    loop_run(gateway->loops[0]->loop);
    log_flush();
    for (int index = 1; index < started; index++) {
        (void)pthread_join(threads[index], NULL);
    }
}

void
gateway_stop(Gateway *gateway, uint32_t grace_ms)
{
    atomic_store_release(&gateway->is_draining, true);
    for (int index = 0; index < gateway->loop_count; index++) {
        gateway->loops[index]->grace_ms = grace_ms;
        loop_post(gateway->loops[index]->loop, &gateway->loops[index]->drain);
    }
}

static void
loops_turn(Gateway *gateway)
{
    for (int index = 0; index < gateway->loop_count * 2; index++) {
        loop_turn(gateway->loops[index % gateway->loop_count]->loop, 0);
    }
}

void
gateway_close(Gateway *gateway)
{
    if (gateway == NULL) {
        return;
    }
    worker_marks_stop(gateway->marks);
    discovery_stop(gateway->discovery);
    gateway->discovery = NULL;
    partial_table_close(gateway->partials);
    for (int index = 0; index < gateway->loop_count; index++) {
        partial_runs_close(gateway->loops[index]);
    }
    loops_turn(gateway); /* loops that have stopped owe each other answers */
    for (int index = 0; index < gateway->loop_count; index++) {
        http_server_free(gateway->loops[index]->server);
        gateway->loops[index]->server = NULL;
        gateway->loops[index]->is_closing = true;
    }
    upkeep_free(gateway->upkeep);
    queue_runner_stop(gateway->queue);
    recorder_stop(gateway->recorder, RECORDS_FLUSH_MS);
    job_pool_free(gateway->jobs);
    loops_turn(gateway); /* what the last jobs have posted */
    log_flush();
    for (int index = 0; index < gateway->loop_count; index++) {
        loop_close(gateway->loops[index]);
    }
    batcher_free(gateway->enqueuer);
    batcher_free(gateway->ender);
    queue_runner_free(gateway->queue);
    step_mail_free(gateway->mail);
    partial_table_free(gateway->partials);
    recorder_free(gateway->recorder);
    metrics_watch(NULL);
    worker_marks_free(gateway->marks);
    auth_cache_free(gateway->auth);
    trace_cache_free(gateway->traces);
    graph_cache_free(gateway->graphs);
    plan_cache_free(gateway->plans);
    directory_free(gateway->directory);
    memory_free(gateway);
}

void
gateway_address(const Gateway *gateway, char ret_text[ADDRESS_TEXT_SIZE])
{
    http_server_address(gateway->loops[0]->server, ret_text);
}
