/* Happy path: worker_open() makes the tables and opens the loops → worker_run() runs each on a thread → a
 * listener is ready → socket_accept → h2_accept → each stream is a request (request.c) → worker_stop() drains
 * the loops → worker_close(). */
#include "worker/serve/server.h"

#include <assert.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/telemetry/log.h"
#include "worker/runtime/captures.h"
#include "worker/serve/metrics.h"
#include "worker/serve/request.h"

/* Own constants of a partition that are worth compiling it anew, when memory is short. */
enum { LARGE_CONSTANTS = 1 << 20 };

typedef struct ServerConnection {
    ListLink link;
    WorkerLoop *loop;
    H2Connection *h2;
} ServerConnection;

static void
stream_on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    (void)is_last;
    const ServerConnection *connection = h2_context(stream->connection);
    request_on_headers(connection->loop, stream, headers, count);
}

static void
connection_on_disconnect(H2Connection *h2, Status reason)
{
    (void)reason;
    ServerConnection *connection = h2_context(h2);
    list_remove(&connection->link);
    memory_free(connection);
}

static const H2Handlers handlers = {
    .on_headers = stream_on_headers,
    .on_data = request_on_data,
    .on_end = request_on_end,
    .on_close = request_on_close,
    .on_disconnect = connection_on_disconnect,
};

static void
connection_accept(WorkerLoop *loop, int fd)
{
    ServerConnection *connection = memory_new(1, sizeof *connection);
    if (connection == NULL) {
        socket_close(fd);
        return;
    }
    H2Options options = {.handlers = &handlers, .context = connection, .stream_count_max = 4096};
    Call accepting = {0};
    connection->loop = loop;
    list_append(&loop->connections, &connection->link);
    if (h2_accept(&accepting, loop->loop, fd, &options, &connection->h2) != STATUS_OK) {
        list_remove(&connection->link);
        memory_free(connection);
    }
}

static void
listener_ready(Watch *watch, uint32_t events)
{
    (void)events;
    WorkerLoop *loop = (WorkerLoop *)(void *)((char *)watch - offsetof(WorkerLoop, listener));
    for (int fd = socket_accept(watch->fd); fd >= 0; fd = socket_accept(watch->fd)) {
        connection_accept(loop, fd);
    }
}

/* Refuses new connections: a socket that is only not watched would take them, and answer none. */
static void
close_listener(WorkerLoop *loop)
{
    if (loop->listener.fd >= 0) {
        watch_close(&loop->listener);
        socket_close(loop->listener.fd);
        loop->listener.fd = -1;
    }
}

/* Refuses new connections, and has those that there are ended in good order: what was sent before the other
 * side knew is still answered. */
static void
close_begin(WorkerLoop *loop)
{
    enum { GOODBYE_MS = 1000 }; /* for a round trip on each connection */
    loop->is_closing = true;
    loop->goodbye_ns = loop_now_ns(loop->loop) + GOODBYE_MS * CLOCK_NS_PER_MS;
    listener_ready(&loop->listener, EPOLLIN); /* who has connected already */
    close_listener(loop);
    LIST_EACH(&loop->connections, link)
    {
        h2_shutdown(LIST_ITEM(link, ServerConnection, link)->h2);
    }
}

/* Returns whether no run has been accepted and no step is left. Until then all loops stay open: the peers of
 * a step push and pull on any of them. */
static bool
is_worker_idle(const Worker *worker)
{
    return atomic_load_seq_cst(&worker->accepted_count) == 0 && step_table_live_count(worker->steps) == 0;
}

/* Returns whether nobody waits for an answer, and every connection has ended, or had its time to. */
static bool
has_closed(const WorkerLoop *loop)
{
    bool is_quiet = list_is_empty(&loop->connections) || loop_now_ns(loop->loop) >= loop->goodbye_ns;
    return loop->is_closing && loop->request_count == 0 && is_quiet;
}

static void
drain_check(Timer *timer)
{
    enum { CHECK_MS = 20 };
    WorkerLoop *loop = (WorkerLoop *)(void *)((char *)timer - offsetof(WorkerLoop, drained));
    bool is_late = loop->grace_ms < CHECK_MS;
    if (!loop->is_closing && (is_late || is_worker_idle(loop->worker))) {
        close_begin(loop);
    }
    if (is_late || has_closed(loop)) {
        loop_stop(loop->loop);
        return;
    }
    loop->grace_ms -= CHECK_MS;
    timer_set(loop->loop, timer, loop_now_ns(loop->loop) + CHECK_MS * CLOCK_NS_PER_MS);
}

static void
drain_begin(Task *task)
{
    WorkerLoop *loop = (WorkerLoop *)(void *)((char *)task - offsetof(WorkerLoop, drain));
    drain_check(&loop->drained);
}

static void
sweep_due(Timer *timer)
{
    enum { SWEEP_MS = 5000 };
    WorkerLoop *loop = (WorkerLoop *)(void *)((char *)timer - offsetof(WorkerLoop, sweep));
    step_table_sweep(loop->worker->steps, loop_now_ns(loop->loop));
    timer_set(loop->loop, timer, loop_now_ns(loop->loop) + SWEEP_MS * CLOCK_NS_PER_MS);
}

/* An accelerator whose context is broken stays so for this process: runs on the CPU may end, then a new
 * process takes its place. */
static void
look_for_fault(Timer *timer)
{
    enum { LOOK_MS = 200 };
    WorkerLoop *loop = (WorkerLoop *)(void *)((char *)timer - offsetof(WorkerLoop, faults));
    Worker *worker = loop->worker;
    const char *fault = worker_fault(worker);
    if (fault == NULL) {
        timer_set(loop->loop, timer, loop_now_ns(loop->loop) + LOOK_MS * CLOCK_NS_PER_MS);
        return;
    }
    log_event(LOG_ERROR, "accelerator out of service: the worker ends, for a new process to take its place",
        log_text("fault", fault), log_integer("grace_ms", worker->options.grace_ms));
    worker_stop(worker, worker->options.grace_ms);
}

static void
drain_loop(WorkerLoop *loop, uint32_t grace_ms)
{
    loop->grace_ms = grace_ms;
    loop_post(loop->loop, &loop->drain);
}

static Status
listener_open(Call *call, WorkerLoop *loop, const char *address)
{
    int fd = -1;
    TRY(socket_listen(call, address, (ListenOptions){.is_shared = true}, &fd));
    Status status = watch_open(call, &loop->listener, loop->loop, fd, EPOLLIN, listener_ready);
    if (status != STATUS_OK) {
        socket_close(fd);
    }
    return status;
}

static void
disconnect_loop(WorkerLoop *loop)
{
    LIST_EACH(&loop->connections, link)
    {
        h2_abort(LIST_ITEM(link, ServerConnection, link)->h2);
    }
    close_listener(loop);
}

static void
close_loop(WorkerLoop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (loop->loop != NULL) {
        disconnect_loop(loop);
        loop_free(loop->loop);
    }
    request_free_spares(loop);
    memory_free(loop);
}

static Status
open_loop(Call *call, Worker *worker, const char *address, WorkerLoop **ret_loop)
{
    WorkerLoop *loop = memory_new(1, sizeof *loop);
    if (loop == NULL) {
        return call_fail_memory(call, "a loop");
    }
    loop->worker = worker;
    loop->listener.fd = -1;
    list_init(&loop->connections);
    list_init(&loop->requests);
    list_init(&loop->spare_requests);
    loop->drain.run = drain_begin;
    loop->drained.fire = drain_check;
    loop->sweep.fire = sweep_due;
    loop->faults.fire = look_for_fault;
    Status status = loop_new(call, &loop->loop);
    if (status == STATUS_OK) {
        status = listener_open(call, loop, address);
    }
    if (status != STATUS_OK) {
        close_loop(loop);
        return status;
    }
    timer_set(loop->loop, &loop->sweep, loop_now_ns(loop->loop));
    *ret_loop = loop;
    return STATUS_OK;
}

/* Returns a new reference to the rendezvous of another slot of a step in this process, so that a value is
 * handed over without a connection. NULL when that attempt has ended. */
static Rendezvous *
find_local(void *context, Slice step, int64_t attempt, int64_t slot, Slice push_token)
{
    Worker *worker = context;
    StepClaim claim = {
        .step = step,
        .slot = slot,
        .attempt = attempt,
        .push_token = push_token,
        .now_ns = clock_monotonic_ns(), /* not a loop's time: called on any thread */
    };
    AUTO_ARENA arena = arena_new(1 << 16);
    Call entering = {.arena = arena};
    StepEntry *entry = NULL;
    if (step_table_enter(&entering, worker->steps, &claim, &entry) != STATUS_OK) {
        return NULL;
    }
    Rendezvous *rendezvous = rendezvous_ref(entry->rendezvous);
    step_entry_unref(entry);
    return rendezvous;
}

static Status
loop_add(Call *call, Worker *worker, const char *address)
{
    WorkerLoop *loop = NULL;
    TRY(open_loop(call, worker, address, &loop));
    worker->loops[worker->loop_count++] = loop;
    TransportOptions options = {
        .upstream = {.token = worker->options.token,
            .versions = worker->options.versions,
            .frames = request_frame_limits(worker, 0),
            .traffic = worker->traffic},
        .incarnation = worker->incarnation,
        .find_local = find_local,
        .context = worker,
    };
    loop->transport = transport_new(loop->loop, &options);
    return loop->transport == NULL ? call_fail_memory(call, "a transport") : STATUS_OK;
}

/* Opens the loops. A first socket without SO_REUSEPORT proves that no other process has the port, and
 * tells the address that the loops then share. */
static Status
loops_open(Call *call, Worker *worker)
{
    int probe = -1;
    TRY(socket_listen(call, worker->options.listen, (ListenOptions){0}, &probe));
    socket_local_address(probe, worker->address);
    socket_close(probe);
    for (int index = 0; index < worker->options.loop_count; index++) {
        TRY(loop_add(call, worker, worker->address));
    }
    return STATUS_OK;
}

static bool
keeps_memory_there(const void *partition, const void *tenant)
{
    return partition_keeps_accelerator_memory(partition, *(const uint64_t *)tenant);
}

/* Forgets a partition for the sake of the accelerator's memory; its gateway registers it again. */
static bool
forget_partition(void *worker, uint64_t tenant)
{
    return cache_drop(((Worker *)worker)->partitions, keeps_memory_there, &tenant);
}

/* Lets the accelerator keep parts of graphs captured, if it can and may. */
static Status
open_captures(Call *call, Worker *worker)
{
    const PluginDevice *accelerator = worker->options.accelerator;
    CapturesOptions options = {.graph_max = worker->options.captured_max};
    if (accelerator == NULL || accelerator->device->begin_capture == NULL || options.graph_max == 0) {
        return STATUS_OK;
    }
    accelerator->device->captures = captures_new(accelerator->device, &options);
    return accelerator->device->captures != NULL ? STATUS_OK : call_fail_memory(call, "the worker's tables");
}

static void
close_captures(Worker *worker)
{
    const PluginDevice *accelerator = worker->options.accelerator;
    if (accelerator != NULL) {
        captures_free(TAKE(accelerator->device->captures));
    }
}

/* Lets partitions keep constants in the accelerator's memory, and that take back what idle ones keep. */
static Status
open_weights(Call *call, Worker *worker)
{
    const PluginDevice *accelerator = worker->options.accelerator;
    if (accelerator == NULL) {
        return STATUS_OK;
    }
    worker->weights = weights_new(accelerator->device);
    if (worker->weights == NULL) {
        return call_fail_memory(call, "the worker's tables");
    }
    accelerator->device->keeper = (DeviceKeeper){.give_up = forget_partition, .context = worker};
    return STATUS_OK;
}

static bool
has_large_constants(const void *partition, const void *context)
{
    (void)context;
    return partition_constant_size(partition) >= LARGE_CONSTANTS;
}

/* Forgets for the sake of the host's memory: what was sent can be sent again, and what was made of it can be
 * made again. */
static bool
forget_constants(void *context, uint64_t tenant)
{
    (void)tenant; /* no tenant has a limit of its own there */
    Worker *worker = context;
    return blob_store_drop(worker->blobs) || cache_drop(worker->partitions, has_large_constants, NULL);
}

/* Lets partitions keep constants in the host's memory, and it take back what idle ones keep. */
static void
open_host_memory(Worker *worker, uint64_t partition_cache_size)
{
    worker->device->constants_max = partition_cache_size / 2;
    worker->device->keeper = (DeviceKeeper){.give_up = forget_constants, .context = worker};
}

static void
close_keepers(Worker *worker)
{
    const PluginDevice *accelerator = worker->options.accelerator;
    worker->device->keeper = (DeviceKeeper){0};
    worker->device->constants_max = 0;
    if (accelerator != NULL) {
        accelerator->device->keeper = (DeviceKeeper){0};
    }
}

static uint64_t
find_partition_cache_size(const Worker *worker)
{
    DeviceMemory memory;
    worker->device->memory(worker->device, &memory);
    size_t given = worker->options.partition_cache_size;
    return given != 0 ? given : memory.limit / 4;
}

static Status
tables_open(Call *call, Worker *worker)
{
    const WorkerOptions *options = &worker->options;
    if (options->blob_folder != NULL) {
        TRY(blob_folder_open(call, options->blob_folder, options->blob_folder_size, &worker->blob_folder));
    }
    BlobStoreOptions blobs = {
        .device = worker->device, .bytes_max = options->blob_cache_size, .folder = worker->blob_folder};
    uint64_t partition_cache_size = find_partition_cache_size(worker);
    worker->partitions = cache_new(&partition_cache_type, partition_cache_size);
    worker->blobs = blob_store_new(&blobs);
    worker->steps = step_table_new();
    worker->sessions = session_table_new();
    worker->states = state_table_new();
    worker->outcomes = outcome_table_new();
    worker->traffic = traffic_new();
    bool has_all = worker->partitions != NULL && worker->blobs != NULL && worker->steps != NULL &&
                   worker->sessions != NULL && worker->states != NULL && worker->outcomes != NULL &&
                   worker->traffic != NULL;
    int threads =
        options->loop_count < BLOB_INTAKE_THREADS_MAX ? options->loop_count : BLOB_INTAKE_THREADS_MAX;
    if (!has_all) {
        return call_fail_memory(call, "the worker's tables");
    }
    open_host_memory(worker, partition_cache_size);
    TRY(open_weights(call, worker));
    TRY(open_captures(call, worker));
    return blob_intakes_new(call, worker->blobs, threads, &worker->intakes);
}

Status
worker_open(Call *call, const WorkerOptions *options, Device *device, Worker **ret_worker)
{
    assert(device != NULL && options->loop_count > 0 && options->loop_count <= WORKER_LOOP_COUNT_MAX);
    Worker *worker = memory_new(1, sizeof *worker);
    if (worker == NULL) {
        return call_fail_memory(call, "the worker");
    }
    worker->options = *options;
    worker->options.versions = wire_versions_or_all(options->versions);
    worker->device = device;
    (void)snprintf(worker->incarnation, sizeof worker->incarnation, "%016llx",
        (unsigned long long)random_nonzero_uint64());
    Status status = tables_open(call, worker);
    if (status == STATUS_OK) {
        status = loops_open(call, worker);
    }
    if (status != STATUS_OK) {
        worker_close(worker);
        return status;
    }
    (void)snprintf(
        worker->name, sizeof worker->name, "%s", options->name == NULL ? worker->address : options->name);
    worker_metrics_watch(worker);
    if (options->accelerator != NULL) {
        look_for_fault(&worker->loops[0]->faults);
    }
    *ret_worker = worker;
    return STATUS_OK;
}

static void *
run_loop(void *context)
{
    WorkerLoop *loop = context;
    loop_run(loop->loop);
    return NULL;
}

void
worker_run(Worker *worker)
{
    pthread_t threads[WORKER_LOOP_COUNT_MAX];
    int started = 1;
    while (started < worker->loop_count &&
           pthread_create(&threads[started], NULL, run_loop, worker->loops[started]) == 0) {
        started++;
    }
    /* Loops whose thread could not be started are closed: they would accept connections and never serve
     * them. */
    while (worker->loop_count > started) {
        transport_free(worker->loops[worker->loop_count - 1]->transport);
        close_loop(worker->loops[--worker->loop_count]);
    }
    loop_run(worker->loops[0]->loop);
    for (int index = 1; index < started; index++) {
        (void)pthread_join(threads[index], NULL);
    }
}

void
worker_stop(Worker *worker, uint32_t grace_ms)
{
    if (atomic_exchange_seq_cst(&worker->is_draining, true)) {
        return;
    }
    for (int index = 0; index < worker->loop_count; index++) {
        drain_loop(worker->loops[index], grace_ms);
    }
}

const char *
worker_fault(const Worker *worker)
{
    const PluginDevice *accelerator = worker->options.accelerator;
    return accelerator == NULL ? NULL : accelerator->device->fault(accelerator->device);
}

static int64_t
count_work(const Worker *worker)
{
    return atomic_load_relaxed(&worker->running_count) + atomic_load_relaxed(&worker->registering_count);
}

static int64_t
count_intakes(const Worker *worker)
{
    return worker->intakes == NULL ? 0 : blob_intake_count(worker->intakes);
}

/* Turns the loops until the last result has come through their mailboxes. False when that takes too long:
 * nothing that a thread uses may be freed then. */
static bool
worker_settle(Worker *worker, int64_t (*count)(const Worker *worker))
{
    enum { TURNS = 500, TURN_MS = 10 };
    int64_t left = 1;
    for (int turn = 0; turn < TURNS && left > 0; turn++) {
        left = count(worker);
        for (int index = 0; index < worker->loop_count; index++) {
            loop_turn(worker->loops[index]->loop, left > 0 ? TURN_MS : 0);
        }
    }
    return left == 0;
}

/* Ends the steps that still run. */
static bool
end_steps(Worker *worker)
{
    if (worker->steps != NULL) {
        step_table_clear(worker->steps);
    }
    for (int index = 0; index < worker->loop_count; index++) {
        disconnect_loop(worker->loops[index]);
    }
    return worker_settle(worker, count_work);
}

/* Ends the transports, and with them the fetches of constants from peers. */
static bool
end_transports(Worker *worker)
{
    for (int index = 0; index < worker->loop_count; index++) {
        transport_free(TAKE(worker->loops[index]->transport));
    }
    return worker_settle(worker, count_intakes);
}

static int64_t
count_partitions(const Worker *worker)
{
    return atomic_load_acquire(&worker->device->partition_count);
}

/* Waits for those too that runs still hold: a run that has told its end lets go of its partition after that,
 * on a thread of its own. */
static bool
end_partitions(Worker *worker)
{
    close_keepers(worker);
    worker_metrics_watch(NULL);
    cache_free(TAKE(worker->partitions));
    return worker_settle(worker, count_partitions);
}

void
worker_close(Worker *worker)
{
    if (worker == NULL || !end_steps(worker) || !end_transports(worker) || !end_partitions(worker)) {
        return;
    }
    for (int index = 0; index < worker->loop_count; index++) {
        close_loop(worker->loops[index]);
    }
    step_table_free(worker->steps);
    session_table_free(worker->sessions);
    outcome_table_free(worker->outcomes);
    state_table_free(worker->states);
    traffic_free(worker->traffic);
    close_captures(worker);
    weights_free(worker->weights);
    blob_intakes_free(worker->intakes);
    blob_store_free(worker->blobs);
    blob_folder_free(worker->blob_folder);
    memory_free(worker);
}
