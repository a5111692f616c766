#include "gateway/workers/worker_pool.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/dispatch/discovery.h"
#include "gateway/jobs/job_context.h"
#include "gateway/jobs/job_pool.h"
#include "gateway/store/workers.h"
#include "gateway/workers/members.h"
#include "shared/base/atomic.h"
#include "shared/base/buffer.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    TASKS_ARENA_SIZE_MAX = 16 << 20,
    MARKS_ARENA_SIZE_MAX = 16 << 20,
    STORE_TIMEOUT_S = 10,
    NAME_SIZE = 256,
    RESOLUTIONS_MAX = 64,
    RENEW_MS = 3600000,
};

struct WorkerPool {
    Job job; /* first: reads the drain marks, and who has joined */
    Loop *loop;
    JobPool *jobs;
    JobPool *resolver; /* one thread, so that a name server that is gone keeps no job thread waiting */
    Directory *directory;
    Discovery *discovery; /* NULL before it has started and once it has stopped */
    EndpointSources *sources;
    Timer timer;
    Task look;      /* posted by worker_pool_look() */
    bool is_posted; /* atomic: `look` is on its way */
    bool is_looking;
    bool looks_again; /* a mark was set while a look was under way */
    bool has_stopped; /* atomic */
    Arena *arena;     /* holds `workers` and the list of `members` */
    WorkerList workers;
    Members members;
    bool has_members; /* they could be read */
    size_t workers_wanted;
    bool has_been_whole; /* atomic: so many served once */
    Buffer seen;         /* WorkerInfo[]: those whose task numbers are to be looked up next */
    Task ask;            /* deferred to the end of the turn: workers of one turn are looked up together */
    bool is_asked;       /* `ask` is deferred, or a look-up under way */
};

/* The look-up of task numbers, for all workers that were seen since the one before. */
typedef struct TasksJob {
    Job job; /* first */
    WorkerPool *pool;
    Arena *arena;     /* holds `found` */
    WorkerList found; /* empty: not found */
    size_t count;
    WorkerInfo workers[];
} TasksJob;

static uint64_t
store_deadline_ns(void)
{
    return clock_monotonic_ns() + STORE_TIMEOUT_S * CLOCK_NS_PER_S;
}

static Status
upsert_seen(Call *call, JobContext *context, TasksJob *tasks)
{
    Store *store = NULL;
    WorkerRecord *seen = arena_alloc(call->arena, tasks->count * sizeof *seen);
    if (seen == NULL) {
        return call_fail_memory(call, "the workers that were seen");
    }
    for (size_t index = 0; index < tasks->count; index++) {
        const WorkerInfo *worker = &tasks->workers[index];
        seen[index] = (WorkerRecord){
            .name = worker->name, .address = worker->address, .incarnation = worker->incarnation};
    }
    TRY(job_store(call, context, STORE_ROLE_QUEUE, &store));
    return workers_upsert(call, store, seen, tasks->count, &tasks->found);
}

static void
find_tasks(Job *job, JobContext *context)
{
    TasksJob *tasks = (TasksJob *)(void *)job;
    Call call = {.arena = tasks->arena, .deadline_ns = store_deadline_ns()};
    if (upsert_seen(&call, context, tasks) != STATUS_OK) {
        log_failure(LOG_WARNING, "the task numbers of workers could not be looked up", &call);
    }
}

static void ask_tasks(Task *task);

/* Names that were not found are announced again in a while. */
static void
tell_tasks(Job *job)
{
    TasksJob *tasks = (TasksJob *)(void *)job;
    WorkerPool *pool = tasks->pool;
    for (size_t index = 0; index < tasks->found.count && pool->discovery != NULL; index++) {
        const WorkerRecord *worker = &tasks->found.items[index];
        discovery_set_draining(pool->discovery, worker->name, worker->is_draining);
        discovery_set_task(pool->discovery, worker->name, (int32_t)worker->task);
    }
    arena_free(tasks->arena);
    memory_free(tasks);
    ask_tasks(&pool->ask);
}

/* Makes a look-up of all workers that were seen; NULL without memory, and when there are none. */
static TasksJob *
take_seen(WorkerPool *pool)
{
    size_t size = pool->seen.size;
    TasksJob *tasks = size == 0 || pool->has_stopped ? NULL : memory_new(1, sizeof *tasks + size);
    Arena *arena = tasks == NULL ? NULL : arena_new(TASKS_ARENA_SIZE_MAX);
    if (arena == NULL) {
        memory_free(tasks);
        tasks = NULL;
    } else {
        tasks->job = (Job){.loop = pool->loop, .run = find_tasks, .done = tell_tasks};
        tasks->pool = pool;
        tasks->arena = arena;
        tasks->count = size / sizeof(WorkerInfo);
        memcpy(tasks->workers, pool->seen.data, size);
    }
    buffer_done(&pool->seen);
    return tasks;
}

/* Workers that cannot be looked up, without memory or a job thread, are announced again in a while. */
static void
ask_tasks(Task *task)
{
    WorkerPool *pool = LIST_ITEM(task, WorkerPool, ask);
    TasksJob *tasks = take_seen(pool);
    pool->is_asked = tasks != NULL && job_submit(pool->jobs, &tasks->job);
    if (tasks != NULL && !pool->is_asked) {
        arena_free(tasks->arena);
        memory_free(tasks);
    }
}

/* Has the worker noted in the database, at the end of this turn or after the look-up that is under way. */
static void
note_worker(WorkerPool *pool, const WorkerInfo *worker)
{
    WorkerInfo seen = *worker;
    seen.gpu = NULL; /* the directory's, and not asked for here */
    buffer_append(&pool->seen, &seen, sizeof seen);
    if (!pool->is_asked) {
        pool->is_asked = true;
        loop_defer(pool->loop, &pool->ask);
    }
}

static void
worker_seen(void *context, const WorkerInfo *worker)
{
    log_event(LOG_INFO, "worker found", log_text("worker", worker->name),
        log_text("address", worker->address), log_text("incarnation", worker->incarnation));
    note_worker(context, worker);
}

/* The look-up of the addresses behind a service's name, on the thread for names, as resolving waits. */
typedef struct Resolution {
    Job job; /* first */
    WorkerPool *pool;
    size_t entry;         /* of the discovery */
    char name[NAME_SIZE]; /* without the port */
    char port[8];
    const char *error;
    size_t address_count;
    Buffer addresses; /* char[ADDRESS_TEXT_SIZE][] */
} Resolution;

/* Writes an address as "10.0.0.7:8471" or "[fd00::7]:8471". */
static bool
address_write(const struct addrinfo *info, const char *port, char ret_text[ADDRESS_TEXT_SIZE])
{
    char host[ADDRESS_TEXT_SIZE - 12];
    if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0) {
        return false;
    }
    bool is_v6 = info->ai_family == AF_INET6;
    (void)snprintf(ret_text, ADDRESS_TEXT_SIZE, "%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    return true;
}

static void
resolve_name(Job *job, JobContext *context)
{
    (void)context;
    Resolution *resolution = (Resolution *)(void *)job;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (atomic_load_acquire(&resolution->pool->has_stopped)) {
        return; /* a gateway that stops does not wait for a name server */
    }
    int code = getaddrinfo(resolution->name, resolution->port, &hints, &found);
    if (code != 0) {
        resolution->error = gai_strerror(code);
        return;
    }
    for (const struct addrinfo *info = found; info != NULL && resolution->address_count < WORKER_COUNT_MAX;
         info = info->ai_next) {
        char *text = buffer_reserve(&resolution->addresses, ADDRESS_TEXT_SIZE);
        if (text != NULL && address_write(info, resolution->port, text)) {
            buffer_grow(&resolution->addresses, ADDRESS_TEXT_SIZE);
            resolution->address_count++;
        }
    }
    freeaddrinfo(found);
    if (!buffer_is_ok(&resolution->addresses)) {
        resolution->error = "no memory left for its addresses";
    }
}

static void
tell_addresses(Job *job)
{
    Resolution *resolution = (Resolution *)(void *)job;
    Slice addresses[WORKER_COUNT_MAX];
    for (size_t index = 0; index < resolution->address_count; index++) {
        addresses[index] = slice_from_string(resolution->addresses.data + index * ADDRESS_TEXT_SIZE);
    }
    if (resolution->error != NULL) {
        log_event(LOG_WARNING, "a name of workers does not resolve", log_text("name", resolution->name),
            log_text("error", resolution->error));
    } else if (resolution->pool->discovery != NULL) {
        discovery_set_addresses(
            resolution->pool->discovery, resolution->entry, addresses, resolution->address_count);
    }
    buffer_done(&resolution->addresses);
    memory_free(resolution);
}

/* Implements DiscoveryEvents.on_resolve: asks for the addresses behind "name:port". A name that does not
 * resolve keeps its former addresses. */
static void
look_up_name(void *context, size_t entry, Slice name_and_port)
{
    WorkerPool *pool = context;
    assert(pool->loop != NULL);

    Resolution *resolution = memory_new(1, sizeof *resolution);
    size_t colon = slice_find_last(name_and_port, ':');
    if (resolution == NULL) {
        return; /* discovery asks again in a few seconds */
    }
    *resolution = (Resolution){
        .job = {.loop = pool->loop, .run = resolve_name, .done = tell_addresses},
        .pool = pool,
        .entry = entry,
    };
    (void)snprintf(resolution->name, NAME_SIZE, "%.*s", SLICE_PRINT(slice_part(name_and_port, 0, colon)));
    (void)snprintf(resolution->port, sizeof resolution->port, "%.*s",
        SLICE_PRINT(slice_part(name_and_port, colon + 1, sizeof resolution->port - 1)));
    if (!job_submit(pool->resolver, &resolution->job)) {
        memory_free(resolution);
    }
}

static Status
read_lists(Call *call, JobContext *context, WorkerPool *pool)
{
    Store *store = NULL;
    TRY(job_store(call, context, STORE_ROLE_QUEUE, &store));
    TRY(members_read(call, store, &pool->members));
    pool->has_members = true;
    return workers_list(call, store, &pool->workers);
}

static void
read_marks(Job *job, JobContext *context)
{
    WorkerPool *pool = (WorkerPool *)(void *)job;
    Call call = {.arena = pool->arena, .deadline_ns = store_deadline_ns()};
    pool->has_members = false;
    if (read_lists(&call, context, pool) != STATUS_OK) {
        lease_watch_break(&pool->members.watch);
        log_failure(LOG_WARNING, "who has joined, and the workers' drain marks, could not be read", &call);
    }
}

/* Reads the marks once more when one was set while they were being read; without a job thread or memory, the
 * next round does. */
static void
look_at_marks(WorkerPool *pool)
{
    if (pool->has_stopped) {
        return;
    }
    if (pool->is_looking) {
        pool->looks_again = true;
        return;
    }
    pool->workers = (WorkerList){0};
    pool->arena = arena_new(MARKS_ARENA_SIZE_MAX);
    pool->is_looking = pool->arena != NULL && job_submit(pool->jobs, &pool->job);
    if (!pool->is_looking) {
        arena_free(pool->arena);
        pool->arena = NULL;
    }
}

/* Notes workers anew that live, but were noted long ago. */
static void
renew_workers(WorkerPool *pool)
{
    Roster *roster = directory_take(pool->directory);
    uint64_t since_us = clock_wall_us() - RENEW_MS * UINT64_C(1000);
    for (size_t index = 0; index < pool->workers.count; index++) {
        const WorkerRecord *noted = &pool->workers.items[index];
        const WorkerInfo *worker =
            noted->last_seen_us < since_us ? roster_find_name(roster, slice_from_string(noted->name)) : NULL;
        if (worker != NULL && worker->state != WORKER_LOST) {
            note_worker(pool, worker);
        }
    }
    roster_unref(roster);
}

/* Tells discovery who has joined, and looks again when the next lease could lapse. */
static void
tell_members(WorkerPool *pool)
{
    DiscoveryMember members[WORKER_COUNT_MAX];
    const WorkerLeaseList *list = &pool->members.list;
    for (size_t index = 0; index < list->count; index++) {
        members[index] = (DiscoveryMember){.address = slice_from_string(list->items[index].address),
            .incarnation = slice_from_string(list->items[index].incarnation)};
    }
    discovery_set_members(pool->discovery, list->epoch, members, list->count);
    if (pool->members.due_ms < WORKER_MARKS_MS) {
        timer_set(
            pool->loop, &pool->timer, loop_now_ns(pool->loop) + (pool->members.due_ms + 1) * CLOCK_NS_PER_MS);
    }
}

static void
tell_marks(Job *job)
{
    WorkerPool *pool = (WorkerPool *)(void *)job;
    if (!pool->has_stopped && pool->has_members) {
        tell_members(pool);
    }
    for (size_t index = 0; index < pool->workers.count && !pool->has_stopped; index++) {
        const WorkerRecord *worker = &pool->workers.items[index];
        discovery_set_draining(pool->discovery, worker->name, worker->is_draining);
    }
    if (!pool->has_stopped) {
        renew_workers(pool);
    }
    arena_free(pool->arena);
    pool->arena = NULL;
    pool->is_looking = false;
    if (pool->looks_again) {
        pool->looks_again = false;
        look_at_marks(pool);
    }
}

static void
set_timer(WorkerPool *pool)
{
    timer_set(pool->loop, &pool->timer, loop_now_ns(pool->loop) + WORKER_MARKS_MS * CLOCK_NS_PER_MS);
}

static void
look_when_due(Timer *timer)
{
    WorkerPool *pool = LIST_ITEM(timer, WorkerPool, timer);
    look_at_marks(pool);
    set_timer(pool);
}

static void
look_on_loop(Task *task)
{
    WorkerPool *pool = LIST_ITEM(task, WorkerPool, look);
    atomic_store_release(&pool->is_posted, false);
    look_at_marks(pool);
}

Status
worker_pool_start(Call *call, const WorkerPoolOptions *options, WorkerPool **ret_pool)
{
    assert(options->loop != NULL && options->jobs != NULL && options->directory != NULL);

    WorkerPool *pool = memory_new(1, sizeof *pool);
    if (pool == NULL) {
        return call_fail_memory(call, "the workers of a gateway");
    }
    pool->loop = options->loop;
    pool->jobs = options->jobs;
    pool->directory = options->directory;
    pool->job = (Job){.loop = options->loop, .run = read_marks, .done = tell_marks};
    pool->timer.fire = look_when_due;
    pool->look.run = look_on_loop;
    pool->ask.run = ask_tasks;
    pool->workers_wanted = options->workers_wanted;
    *ret_pool = pool; /* job threads and discovery point to it from here on */
    DiscoveryOptions discovery = {
        .addresses = options->addresses,
        .address_count = options->address_count,
        .upstream = options->upstream,
        .on_seen = worker_seen,
        .on_resolve = look_up_name,
        .context = pool,
    };
    TRY(job_pool_new(
        call, &(JobPoolOptions){.thread_count = 1, .queue_max = RESOLUTIONS_MAX}, &pool->resolver));
    TRY(discovery_start(call, options->loop, options->directory, &discovery, &pool->discovery));
    EndpointSourcesOptions sources = {
        .loop = options->loop,
        .discovery = pool->discovery,
        .addresses = options->addresses,
        .address_count = options->address_count,
        .access = options->kubernetes,
    };
    TRY(endpoint_sources_start(call, &sources, &pool->sources));
    timer_set(pool->loop, &pool->timer, loop_now_ns(pool->loop));
    return STATUS_OK;
}

void
worker_pool_look(WorkerPool *pool)
{
    if (!atomic_exchange_acq_rel(&pool->is_posted, true)) {
        loop_post(pool->loop, &pool->look);
    }
}

void
worker_pool_stop(WorkerPool *pool)
{
    if (pool != NULL) {
        atomic_store_release(&pool->has_stopped, true);
        timer_clear(pool->loop, &pool->timer);
        endpoint_sources_stop(pool->sources);
        discovery_stop(pool->discovery);
        pool->discovery = NULL;
        job_pool_free(TAKE(pool->resolver));
    }
}

void
worker_pool_free(WorkerPool *pool)
{
    if (pool != NULL) {
        assert(pool->discovery == NULL);
        endpoint_sources_free(pool->sources);
        buffer_done(&pool->seen);
        memory_free(pool);
    }
}

static size_t
count_serving(Directory *directory)
{
    Roster *roster = directory_take(directory);
    size_t count = 0;
    for (size_t index = 0; index < roster->count; index++) {
        count += roster->workers[index].state == WORKER_SERVING;
    }
    roster_unref(roster);
    return count;
}

bool
worker_pool_serves(WorkerPool *pool, WorkersThere *ret_there)
{
    size_t count = count_serving(pool->directory);
    if (count >= pool->workers_wanted) {
        atomic_store_release(&pool->has_been_whole, true);
    }
    bool is_whole = atomic_load_acquire(&pool->has_been_whole);
    *ret_there = (WorkersThere){.count = count, .wanted = is_whole ? 1 : pool->workers_wanted};
    return count >= ret_there->wanted;
}

double
worker_pool_slots(Directory *directory)
{
    Roster *roster = directory_take(directory);
    int64_t slots = 0;
    for (size_t index = 0; index < roster->count; index++) {
        const WorkerInfo *worker = &roster->workers[index];
        for (size_t device = 0; worker->state == WORKER_SERVING && device < worker->device_count; device++) {
            slots += roster_devices(roster, worker)[device].slot_count;
        }
    }
    roster_unref(roster);
    return (double)slots;
}
