#include "worker/serve/worker.h"

#include <pthread.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/base/text.h"
#include "worker/serve/metrics.h"
#include "worker/serve/server.h"

/* The rendezvous of a slot that runs in this same process: the way of a value from one slot to another here.
 */
static Rendezvous *
find_local(void *context, Slice step, int64_t attempt, int64_t slot, Slice push_token)
{
    Worker *const worker = context;
    const StepClaim claim = {
        .step = step,
        .slot = slot,
        .attempt = attempt,
        .push_token = push_token,
        .now_ns = clock_monotonic_ns(), /* any thread: no loop's own time */
    };
    AUTO_ARENA arena = arena_new(1 << 16);
    Call entering = {.arena = arena};
    StepEntry *entry = NULL;
    if (step_table_enter(&entering, worker->steps, &claim, &entry) != STATUS_OK) {
        return NULL;
    }
    Rendezvous *const rendezvous = rendezvous_ref(entry->rendezvous);
    step_entry_unref(entry);
    return rendezvous;
}

static TensorBuffer *
allocate_on_device(void *context, size_t size)
{
    Device *const device = context;
    return device->allocate(device, size);
}

FrameLimits
worker_frame_limits(Worker *worker, size_t tensor_size_max)
{
    const size_t worker_max = worker->options.tensor_size_max;
    const bool is_narrower = tensor_size_max != 0 && tensor_size_max < worker_max;
    return (FrameLimits){
        .tensor_size_max = is_narrower ? tensor_size_max : worker_max,
        .allocate = allocate_on_device,
        .allocate_context = worker->device,
    };
}

Status
worker_partition_key(WorkerRequest *request, Slice digest, Slice *ret_key)
{
    const char *const key =
        text_format(request->call.arena, "%.*s/%.*s", SLICE_PRINT(request->tenant), SLICE_PRINT(digest));
    if (key == NULL) {
        return call_fail_memory(&request->call, "a partition's key");
    }
    *ret_key = slice_from_string(key);
    return STATUS_OK;
}

static Status
loop_add(Call *call, Worker *worker, const char *address)
{
    WorkerLoop *loop = NULL;
    TRY(worker_loop_open(call, worker, address, &loop));
    worker->loops[worker->loop_count++] = loop;
    const TransportOptions options = {
        .upstream = {.token = worker->options.token, .frames = worker_frame_limits(worker, 0)},
        .incarnation = worker->incarnation,
        .find_local = find_local,
        .context = worker,
    };
    loop->transport = transport_new(loop->loop, &options);
    return loop->transport == NULL ? call_fail_memory(call, "a transport") : STATUS_OK;
}

/* The first loop proves that the port is free with a bind that does not share; then all share it. */
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

Status
worker_open(Call *call, const WorkerOptions *options, Device *device, Worker **ret_worker)
{
    Worker *const worker = memory_new(1, sizeof *worker);
    if (worker == NULL) {
        return call_fail_memory(call, "the worker");
    }
    worker->options = *options;
    worker->device = device;
    (void)snprintf(worker->incarnation, sizeof worker->incarnation, "%016llx",
        (unsigned long long)random_nonzero_uint64());
    worker->partitions = partition_cache_new(options->partition_cache_size);
    worker->blobs = blob_cache_new(options->blob_cache_size);
    worker->steps = step_table_new();
    worker->sessions = session_table_new();
    worker->states = state_table_new();
    const bool has_all = worker->partitions != NULL && worker->blobs != NULL && worker->steps != NULL &&
                         worker->sessions != NULL && worker->states != NULL;
    const Status status = has_all ? loops_open(call, worker) : call_fail_memory(call, "the worker's tables");
    if (status != STATUS_OK) {
        worker_close(worker);
        return status;
    }
    (void)snprintf(
        worker->name, sizeof worker->name, "%s", options->name == NULL ? worker->address : options->name);
    worker_metrics_watch(worker);
    *ret_worker = worker;
    return STATUS_OK;
}

static void *
run_loop(void *context)
{
    WorkerLoop *const loop = context;
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
    /* A loop without a thread would accept connections and never serve them. */
    while (worker->loop_count > started) {
        transport_free(worker->loops[worker->loop_count - 1]->transport);
        worker_loop_close(worker->loops[--worker->loop_count]);
    }
    loop_run(worker->loops[0]->loop);
    for (int index = 1; index < started; index++) {
        (void)pthread_join(threads[index], NULL);
    }
}

void
worker_stop(Worker *worker, uint32_t grace_ms)
{
    atomic_store_release(&worker->is_draining, true);
    for (int index = 0; index < worker->loop_count; index++) {
        worker_loop_drain(worker->loops[index], grace_ms);
    }
}

/* Ends what still runs, whose last word comes through the loops' mailboxes. False when a kernel takes too
 * long: then nothing that it uses may be freed. */
static bool
worker_settle(Worker *worker)
{
    enum { TURNS = 500, TURN_MS = 10 };
    if (worker->steps != NULL) {
        step_table_clear(worker->steps);
    }
    for (int index = 0; index < worker->loop_count; index++) {
        worker_loop_disconnect(worker->loops[index]);
    }
    int64_t running = 1;
    for (int turn = 0; turn < TURNS && running > 0; turn++) {
        running =
            atomic_load_relaxed(&worker->running_count) + atomic_load_relaxed(&worker->registering_count);
        for (int index = 0; index < worker->loop_count; index++) {
            loop_turn(worker->loops[index]->loop, running > 0 ? TURN_MS : 0);
        }
    }
    return running == 0;
}

void
worker_close(Worker *worker)
{
    if (worker == NULL || !worker_settle(worker)) {
        return;
    }
    for (int index = 0; index < worker->loop_count; index++) {
        transport_free(worker->loops[index]->transport);
        worker_loop_close(worker->loops[index]);
    }
    worker_metrics_watch(NULL);
    step_table_free(worker->steps);
    session_table_free(worker->sessions);
    state_table_free(worker->states);
    partition_cache_free(worker->partitions);
    blob_cache_free(worker->blobs);
    memory_free(worker);
}
