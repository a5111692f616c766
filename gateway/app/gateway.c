#include "gateway/app/gateway.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "gateway/app/gateway_loop.h"
#include "gateway/app/metrics.h"
#include "gateway/auth/auth.h"
#include "gateway/blobs/blob_store.h"
#include "gateway/events/event_feed.h"
#include "gateway/graphs/plan_obtain.h"
#include "gateway/jobs/database_probe.h"
#include "gateway/jobs/job_context.h"
#include "gateway/partials/partial_run.h"
#include "gateway/queue/pool_lease.h"
#include "gateway/queue/upkeep.h"
#include "gateway/replicas/replica_mail.h"
#include "gateway/steps/queued_step.h"
#include "gateway/steps/step_enqueue.h"
#include "gateway/store/migrate.h"
#include "gateway/tensors/constant_pieces.h"
#include "gateway/workers/worker_pool.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/spare_memory.h"
#include "shared/telemetry/log.h"

enum { RECORDS_FLUSH_MS = 5000, WORKERS_SEEN_MS = 60000 };

/* Parts stand in the order in which they are opened. */
struct Gateway {
    Limits limits;
    Replica replica;
    BlobStore *blobs;
    JobContextOptions job_contexts;
    Auth *auth;
    Directory *directory;
    SessionCache *sessions;
    GraphCache *graphs;
    PlanCache *plans;
    TraceCache *traces;
    JobPool *jobs;
    DatabaseProbe *probe;
    PoolLease *pool;
    Recorder *recorder;
    TenantMemory *bodies;
    Steps steps; /* with the queue runner and the batchers */
    PartialTable *partials;
    EventFeed *events;
    ReplicaMail *mail;
    ConstantPieces *constants;
    GatewayLoop *loops[GATEWAY_LOOP_COUNT_MAX];
    int loop_count;
    WorkerPool *workers; /* on the first loop */
    Upkeep *upkeep;
    MetricSources metrics;
    Timer trim; /* of spare memory, on the first loop */
};

/* Gives back the large blocks of memory that were not used for a second or two. */
static void
trim_due(Timer *timer)
{
    enum { TRIM_MS = 1000 };
    const Gateway *gateway = LIST_ITEM(timer, Gateway, trim);
    Loop *loop = gateway->loops[0]->loop;
    spare_memory_trim();
    timer_set(loop, timer, loop_now_ns(loop) + TRIM_MS * CLOCK_NS_PER_MS);
}

static bool
queue_is_ready(void *context)
{
    const Gateway *gateway = context;
    WorkersThere there;
    return !replica_is_leaving(&gateway->replica) && worker_pool_serves(gateway->workers, &there);
}

static bool
queue_run(void *context, const StepRecord *record)
{
    return queued_step_run(&((Gateway *)context)->steps, record);
}

static void
queue_cancel(void *context, int loop_index, const StepHold *hold)
{
    steps_cancel_running(&((Gateway *)context)->steps, loop_index, hold);
}

static void
queue_mail(void *context, const char *text)
{
    replica_mail_receive(((const Gateway *)context)->mail, text);
}

static void
queue_mail_begins(void *context)
{
    replica_mail_begin(((const Gateway *)context)->mail);
}

static void
look_at_workers(void *context)
{
    worker_pool_look(((const Gateway *)context)->workers);
}

static Status
open_queue(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    QueueRunnerOptions queue = {
        .conninfo = options->conninfo,
        .owner = gateway->replica.id,
        .held_max = options->queue_slot_count,
        .admission = pool_lease_admission(gateway->pool),
        .lease_ms = options->queue_lease_ms,
        .is_ready = queue_is_ready,
        .run = queue_run,
        .cancel = queue_cancel,
        .mail = queue_mail,
        .mail_begins = queue_mail_begins,
        .context = gateway,
    };
    UpkeepOptions upkeep = {
        .conninfo = options->conninfo,
        .owner = gateway->replica.id,
        .history_days = options->history_days,
        .blob_age_ms = options->blob_age_ms,
        .events_ms = options->event_age_ms,
        .workers_ms = WORKERS_SEEN_MS,
        .blobs = blob_store_backend(gateway->blobs),
    };
    TRY(queue_runner_new(call, &queue, &gateway->steps.queue));
    return upkeep_new(call, &upkeep, &gateway->upkeep);
}

static UpstreamOptions
upstream_options(const GatewayOptions *options)
{
    enum { WINDOW_SIZE = 64 * 1024 }; /* of an answer whose reader may be slow; fast ones get more */
    return (UpstreamOptions){
        .token = options->worker_token,
        .versions = options->protocols,
        .frames.tensor_size_max = options->tensor_size_max,
        .window_size = WINDOW_SIZE,
    };
}

/* Binds once without sharing, which proves that the port is free; then all loops share it. */
static Status
open_loops(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    char address[ADDRESS_TEXT_SIZE];
    int probe = -1;
    TRY(socket_listen(call, options->listen, (ListenOptions){0}, &probe));
    socket_local_address(probe, address);
    socket_close(probe);
    GatewayLoopOptions loop = {
        .parts = {.limits = &gateway->limits,
            .replica = &gateway->replica,
            .auth = gateway->auth,
            .database = gateway->probe,
            .outlasts_outage = options->outlasts_outage,
            .blobs = gateway->blobs,
            .sessions = gateway->sessions,
            .graphs = gateway->graphs,
            .resident_weights = options->resident_weights,
            .traces = gateway->traces,
            .directory = gateway->directory,
            .worker_lease_ms = options->worker_lease_ms,
            .protocols = options->protocols,
            .mail = gateway->mail},
        .jobs = gateway->jobs,
        .admission = pool_lease_admission(gateway->pool),
        .events = gateway->events,
        .steps = &gateway->steps,
        .partials = gateway->partials,
        .bodies = gateway->bodies,
        .upstream = upstream_options(options),
        .pieces = constant_pieces_reader(gateway->constants),
        .address = address,
        .origins = options->origins,
        .is_open = options->is_open,
        .loop_count = options->loop_count,
    };
    loop.parts.metrics = metrics_all(&loop.parts.metric_table_count);
    for (int index = 0; index < options->loop_count; index++) {
        GatewayLoop **next = &gateway->loops[gateway->loop_count];
        Status status = gateway_loop_open(call, &loop, next);
        gateway->loop_count += *next != NULL;
        TRY(status);
    }
    return STATUS_OK;
}

/* Each job thread may open one connection for each role; the recorder, the runner, the listener, the pool's
 * lease, the probe and the feed of events have one each, the upkeep has two. */
static Status
check_connections(Call *call, Store *store, int job_thread_count)
{
    enum { OTHERS = 8 };
    uint64_t wanted = (uint64_t)job_thread_count * JOB_CONNECTIONS_MAX + OTHERS;
    uint64_t allowed = 0;
    TRY(store_connections_allowed(call, store, &allowed));
    return wanted <= allowed ? STATUS_OK
                             : call_fail(call, STATUS_FAILED_PRECONDITION,
                                   "with %d job threads the gateway may open %llu connections, PostgreSQL "
                                   "allows %llu: lower --job-threads or raise max_connections",
                                   job_thread_count, (unsigned long long)wanted, (unsigned long long)allowed);
}

static Status
check_database(Call *call, const GatewayOptions *options)
{
    AUTO_STORE store = NULL;
    StoreOptions app = {.conninfo = options->conninfo, .role = STORE_ROLE_APP};
    TRY(store_open(call, &app, &store));
    TRY(migrate_check(call, store));
    return check_connections(call, store, options->job_thread_count);
}

static Status
open_blobs(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    BlobStoreOptions blobs = {
        .where = options->blob_store,
        .inline_size = options->blob_inline_size,
        .limits = &gateway->limits,
        .s3 = options->s3,
    };
    return blob_store_open(call, &blobs, &gateway->blobs);
}

static Status
open_caches(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    AuthOptions auth = {
        .pepper = options->pepper,
        .is_open = options->is_open,
        .worker_token = options->worker_token,
    };
    gateway->auth = auth_new(&auth);
    gateway->directory = directory_new();
    gateway->sessions = session_cache_new();
    gateway->graphs = graph_cache_new(options->graph_cache_size);
    gateway->plans = plan_cache_new(options->plan_cache_size);
    gateway->traces = trace_cache_new(options->trace_cache_size);
    gateway->bodies = tenant_memory_new(options->body_memory_size);
    if (gateway->auth == NULL || gateway->directory == NULL || gateway->sessions == NULL ||
        gateway->graphs == NULL || gateway->plans == NULL || gateway->traces == NULL ||
        gateway->bodies == NULL) {
        return call_fail_memory(call, "the gateway's caches");
    }
    graph_cache_on_evict(gateway->graphs, plans_forget, gateway->plans);
    return STATUS_OK;
}

static double
count_slots(void *context)
{
    return worker_pool_slots(((const Gateway *)context)->directory);
}

static Status
open_threads(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    JobPoolOptions jobs = {
        .thread_count = options->job_thread_count,
        .context_new = job_context_new,
        .context_free = job_context_free,
        .owner = &gateway->job_contexts,
    };
    PoolLeaseOptions pool = {
        .conninfo = options->conninfo,
        .owner = gateway->replica.id,
        .waiting_max = gateway->limits.waiting_steps,
        .count_slots = count_slots,
        .context = gateway,
    };
    RecorderOptions recorder = {
        .conninfo = options->conninfo,
        .ring_size = options->record_ring_size,
    };
    gateway->job_contexts = (JobContextOptions){
        .conninfo = options->conninfo,
        .blobs = blob_store_backend(gateway->blobs),
        .gateway = gateway->replica.id,
    };
    TRY(job_pool_new(call, &jobs, &gateway->jobs));
    TRY(database_probe_new(call, options->conninfo, &gateway->probe));
    gateway->constants = constant_pieces_new(gateway->jobs, options->job_thread_count, options->loop_count);
    if (gateway->constants == NULL) {
        return call_fail_memory(call, "the reading of constants");
    }
    gateway->pool = pool_lease_new(&pool);
    if (gateway->pool == NULL) {
        return call_fail_memory(call, "the gateway's admission");
    }
    return recorder_new(call, &recorder, &gateway->recorder);
}

static Status
open_steps(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    gateway->steps = (Steps){
        .limits = &gateway->limits,
        .replica = &gateway->replica,
        .jobs = gateway->jobs,
        .directory = gateway->directory,
        .sessions = gateway->sessions,
        .graphs = gateway->graphs,
        .plans = gateway->plans,
        .traces = gateway->traces,
        .recorder = gateway->recorder,
        .outputs = tenant_memory_new(options->output_memory_size),
        .enqueuer = batcher_new(gateway->jobs, step_enqueue_batch),
        .ender = batcher_new(gateway->jobs, queued_steps_end),
    };
    gateway->partials = partial_table_new(&gateway->limits, &gateway->replica);
    TRY(event_feed_new(call, options->conninfo, &gateway->events));
    ReplicaMailOptions mail = {
        .replica = &gateway->replica,
        .limits = &gateway->limits,
        .jobs = gateway->jobs,
        .traces = gateway->traces,
        .steps = &gateway->steps,
        .partials = gateway->partials,
        .auth = gateway->auth,
        .events = gateway->events,
        .workers_changed = look_at_workers,
        .context = gateway,
    };
    gateway->mail = replica_mail_new(&mail);
    bool is_whole = gateway->steps.outputs != NULL && gateway->steps.enqueuer != NULL &&
                    gateway->steps.ender != NULL && gateway->partials != NULL && gateway->mail != NULL;
    return is_whole ? STATUS_OK : call_fail_memory(call, "the gateway's steps");
}

static Status
open_workers(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    WorkerPoolOptions workers = {
        .loop = gateway->loops[0]->loop,
        .jobs = gateway->jobs,
        .directory = gateway->directory,
        .addresses = options->workers,
        .address_count = options->worker_count,
        .upstream = upstream_options(options),
        .workers_wanted = options->workers_wanted,
        .kubernetes = options->kubernetes,
    };
    return worker_pool_start(call, &workers, &gateway->workers);
}

/* Gives the handlers what was opened after the loops, the metrics what they read, and spare memory its timer.
 */
static void
complete_parts(Gateway *gateway)
{
    for (int index = 0; index < gateway->loop_count; index++) {
        gateway->loops[index]->parts.outputs = gateway->steps.outputs;
        gateway->loops[index]->parts.queue = gateway->steps.queue;
        gateway->loops[index]->parts.workers = gateway->workers;
    }
    gateway->metrics = (MetricSources){
        .directory = gateway->directory,
        .plans = gateway->plans,
        .graphs = gateway->graphs,
        .jobs = gateway->jobs,
        .outputs = gateway->steps.outputs,
        .bodies = gateway->bodies,
        .partials = gateway->partials,
    };
    metrics_watch(&gateway->metrics);
    gateway->trim.fire = trim_due;
    trim_due(&gateway->trim);
}

static Status
open_parts(Call *call, Gateway *gateway, const GatewayOptions *options)
{
    if (options->is_open && !address_is_loopback(options->listen)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "--auth=off is refused on '%s': it is no loopback address", options->listen);
    }
    TRY(check_database(call, options));
    TRY(open_blobs(call, gateway, options));
    TRY(open_caches(call, gateway, options));
    TRY(open_threads(call, gateway, options));
    TRY(open_steps(call, gateway, options));
    TRY(open_loops(call, gateway, options));
    TRY(open_workers(call, gateway, options)); /* first: the queue's threads ask for them */
    TRY(open_queue(call, gateway, options));
    TRY(pool_lease_start(call, gateway->pool));
    complete_parts(gateway);
    return STATUS_OK;
}

Status
gateway_open(Call *call, const GatewayOptions *options, Gateway **ret_gateway)
{
    assert(options->loop_count > 0 && options->loop_count <= GATEWAY_LOOP_COUNT_MAX);

    Gateway *gateway = memory_new(1, sizeof *gateway);
    if (gateway == NULL) {
        return call_fail_memory(call, "the gateway");
    }
    gateway->limits = options->limits;
    replica_init(&gateway->replica);
    Status status = open_parts(call, gateway, options);
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
    const GatewayLoop *loop = context;
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
        GatewayLoop *loop = gateway->loops[--gateway->loop_count];
        gateway_loop_close(loop);
        gateway_loop_free(loop);
    }
    (void)run_loop(gateway->loops[0]);
    for (int index = 1; index < started; index++) {
        (void)pthread_join(threads[index], NULL);
    }
}

void
gateway_leave(Gateway *gateway)
{
    replica_leave(&gateway->replica);
}

void
gateway_stop(Gateway *gateway, uint32_t grace_ms)
{
    replica_drain(&gateway->replica);
    for (int index = 0; index < gateway->loop_count; index++) {
        gateway_loop_stop(gateway->loops[index], grace_ms);
    }
}

/* Runs what the loops, which have stopped, have posted to each other. */
static void
turn_loops(const Gateway *gateway)
{
    for (int index = 0; index < gateway->loop_count * 2; index++) {
        loop_turn(gateway->loops[index % gateway->loop_count]->loop, 0);
    }
}

static void
close_loops(Gateway *gateway)
{
    if (gateway->loop_count > 0) {
        timer_clear(gateway->loops[0]->loop, &gateway->trim);
    }
    partial_table_close(gateway->partials);
    for (int index = 0; index < gateway->loop_count; index++) {
        partials_close(&gateway->loops[index]->partials);
    }
    turn_loops(gateway);
    for (int index = 0; index < gateway->loop_count; index++) {
        gateway_loop_close(gateway->loops[index]);
    }
}

static void
close_threads(Gateway *gateway)
{
    upkeep_free(gateway->upkeep);
    recorder_stop(gateway->recorder, RECORDS_FLUSH_MS);
    queue_runner_stop(gateway->steps.queue); /* listens until the records are written */
    event_feed_stop(gateway->events);
    job_pool_stop(gateway->jobs);
    pool_lease_stop(gateway->pool); /* keys taken by jobs are this gateway's until they have ended */
    database_probe_free(gateway->probe);
    turn_loops(gateway); /* the last jobs have posted their ends */
    log_flush();
    while (gateway->loop_count > 0) {
        gateway_loop_free(gateway->loops[--gateway->loop_count]);
    }
}

void
gateway_close(Gateway *gateway)
{
    if (gateway == NULL) {
        return;
    }
    worker_pool_stop(gateway->workers);
    close_loops(gateway);
    close_threads(gateway);
    metrics_watch(NULL);
    worker_pool_free(gateway->workers);
    queue_runner_free(gateway->steps.queue);
    constant_pieces_free(gateway->constants);
    pool_lease_free(gateway->pool);
    replica_mail_free(gateway->mail);
    event_feed_free(gateway->events);
    partial_table_free(gateway->partials);
    batcher_free(gateway->steps.enqueuer);
    batcher_free(gateway->steps.ender);
    job_pool_free(gateway->jobs); /* timers of the loops have asked it until these were freed */
    tenant_memory_free(gateway->steps.outputs);
    tenant_memory_free(gateway->bodies);
    recorder_free(gateway->recorder);
    trace_cache_free(gateway->traces);
    graph_cache_free(gateway->graphs);
    plan_cache_free(gateway->plans);
    session_cache_free(gateway->sessions);
    directory_free(gateway->directory);
    auth_free(gateway->auth);
    blob_store_close(gateway->blobs);
    memory_free(gateway);
}

void
gateway_address(const Gateway *gateway, char ret_text[ADDRESS_TEXT_SIZE])
{
    http_server_address(gateway->loops[0]->server, ret_text);
}
