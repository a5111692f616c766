/* A pool of thousands of workers, which answer polls and runs in the turn after: one thread, a clock of the
 * test's own. Discovery finds all of them, spreads its polls, and publishes few lists; a step of 256 slots
 * takes as many workers. What that costs grows as the pool does: comparisons of names are counted. */
#include "gateway/dispatch/discovery.h"
#include "gateway/dispatch/step.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/wire/frame.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/idle_upstream.h"
#include "tests/support/compare_count.h"

enum { POOL_MAX = WORKER_COUNT_MAX, SLOTS = PLAN_SLOT_COUNT_MAX, TASKS_TOLD = 200 };

struct UpstreamCall {
    ListLink link;
    const UpstreamEvents *events;
    void *context;
    unsigned worker;
    bool is_poll;
    bool is_run;
    bool is_detached;
    Buffer body;
};

static struct Pool {
    unsigned count;
    unsigned down;  /* the first so many workers do not answer */
    ListLink calls; /* to be answered in the next turn */
    unsigned polls[POOL_MAX];
    unsigned turn_polls; /* in this turn */
    unsigned turn_polls_max;
    unsigned runs[POOL_MAX];
    unsigned seen[POOL_MAX]; /* workers that are without a task yet */
    unsigned seen_count;
    unsigned told_count;
    bool has_ended;
    Status status;
} pool;

/* The functions of shared/upstream begin here. */

struct Upstream {
    int unused;
};

Upstream *
upstream_new(Loop *loop, const UpstreamOptions *options)
{
    (void)loop;
    (void)options;
    return memory_new(1, sizeof(Upstream));
}

void
upstream_free(Upstream *upstream)
{
    memory_free(upstream);
}

UpstreamCall *
upstream_begin(Upstream *upstream, const UpstreamHead *head, const UpstreamEvents *events, void *context)
{
    (void)upstream;
    UpstreamCall *call = memory_new(1, sizeof *call);
    uint64_t number = 0;
    assert_non_null(call);
    assert_true(slice_to_uint64(slice_from_string(head->address + 1), &number) && number < pool.count);
    call->events = events;
    call->context = context;
    call->worker = (unsigned)number;
    call->is_poll = slice_equals_string(head->path, "/worker/v1/status");
    call->is_run = slice_find(head->path, ':') < head->path.size;
    pool.polls[number] += call->is_poll;
    pool.turn_polls += call->is_poll;
    pool.runs[number] += call->is_run;
    list_append(&pool.calls, &call->link);
    return call;
}

void
upstream_write_copy(UpstreamCall *call, Slice data)
{
    (void)call;
    (void)data;
}

void
upstream_end(UpstreamCall *call)
{
    (void)call;
}

void
upstream_cancel(UpstreamCall *call)
{
    call->is_detached = true;
}

void
upstream_detach(UpstreamCall *call)
{
    call->is_detached = true;
}

void *
upstream_context(const UpstreamCall *call)
{
    return call->context;
}

int
upstream_http_status(const UpstreamCall *call)
{
    (void)call;
    return 200;
}

Slice
upstream_body(const UpstreamCall *call)
{
    return buffer_slice(&call->body);
}

/* The fake workers begin here. */

static void
answer_poll(UpstreamCall *call)
{
    char name[16];
    WireDevice device = {.type = SLICE("CPU"), .isa = SLICE("avx2"), .thread_count = 1};
    WireWorker worker = {.incarnation = SLICE("0123456789abcdef"),
        .state = SLICE("serving"),
        .devices = &device,
        .device_count = 1};
    (void)snprintf(name, sizeof name, "w%u", call->worker);
    worker.name = slice_from_string(name);
    wire_worker_write(&call->body, &worker);
}

static void
answer_run(UpstreamCall *call)
{
    static const char json[] = "{\"code\":\"OK\"}";
    Frame frame = {.kind = FRAME_STATUS, .json = slice_of(json, sizeof json - 1)};
    call->events->on_frame(call, &frame);
}

static void
answer_call(UpstreamCall *call)
{
    bool is_down = call->worker < pool.down;
    if (call->is_poll && !is_down) {
        answer_poll(call);
    } else if (call->is_run && !call->is_detached) {
        answer_run(call);
    }
    if (!call->is_detached) {
        call->events->on_done(call, is_down ? STATUS_UNAVAILABLE : STATUS_OK, "");
    }
    buffer_done(&call->body);
    memory_free(call);
}

static void
answer_calls(void)
{
    ListLink calls;
    list_init(&calls);
    list_move(&pool.calls, &calls);
    while (!list_is_empty(&calls)) {
        UpstreamCall *call = LIST_ITEM(list_first(&calls), UpstreamCall, link);
        list_remove(&call->link);
        answer_call(call);
    }
}

static void
on_seen(void *context, const WorkerInfo *worker)
{
    (void)context;
    uint64_t number = 0;
    assert_true(slice_to_uint64(slice_from_string(worker->name + 1), &number));
    assert_true(pool.seen_count < POOL_MAX);
    pool.seen[pool.seen_count++] = (unsigned)number;
}

/* Tells the tasks of some workers, as the database does in lumps. */
static void
tell_tasks(Discovery *discovery)
{
    for (unsigned turn = 0; turn < TASKS_TOLD && pool.seen_count > 0; turn++) {
        char name[16];
        unsigned number = pool.seen[--pool.seen_count];
        (void)snprintf(name, sizeof name, "w%u", number);
        discovery_set_task(discovery, name, (int32_t)number);
        pool.told_count++;
    }
}

static void
play(Loop *loop, Discovery *discovery, unsigned milliseconds)
{
    for (unsigned turn = 0; turn < milliseconds; turn++) {
        simulated_ns += CLOCK_NS_PER_MS;
        pool.turn_polls = 0;
        answer_calls();
        tell_tasks(discovery);
        loop_turn(loop, 0);
        pool.turn_polls_max = pool.turn_polls > pool.turn_polls_max ? pool.turn_polls : pool.turn_polls_max;
    }
}

static unsigned
count_workers(Directory *directory, WorkerState state)
{
    Roster *roster = directory_take(directory);
    unsigned count = 0;
    for (size_t index = 0; index < roster->count; index++) {
        const WorkerInfo *worker = &roster->workers[index];
        assert_int_equal(worker->task, index);
        assert_ptr_equal(roster_find_name(roster, slice_from_string(worker->name)), worker);
        assert_ptr_equal(roster_find(roster, worker->address), worker);
        assert_ptr_equal(roster_find_task(roster, (int32_t)index), worker);
        assert_int_equal(roster_devices(roster, worker)->thread_count, 1);
        count += worker->state == state;
    }
    roster_unref(roster);
    return count;
}

static void
on_done(void *context, const StepReport *report)
{
    (void)context;
    pool.has_ended = true;
    pool.status = report->failure.code;
}

/* Runs a step of all slots and expects that no worker gets two of them. */
static void
run_step(Loop *loop, Discovery *discovery, Dispatcher *dispatcher)
{
    static const StepEvents events = {.on_done = on_done};
    static PlanSlot slots[SLOTS];
    static PlanPartition partitions[SLOTS];
    static Plan plan = {
        .slots = slots, .slot_count = SLOTS, .partitions = partitions, .partition_count = SLOTS};
    StepRunOptions options = {.plan = &plan,
        .tenant = "t",
        .session = "ses_0",
        .request_id = "r",
        .deadline_ns = simulated_ns + 10 * CLOCK_NS_PER_S,
        .is_pure = true};
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        slots[slot] = (PlanSlot){.task = PLAN_TASK_NONE};
        partitions[slot] = (PlanPartition){.slot = slot};
        (void)snprintf(partitions[slot].digest, sizeof partitions[slot].digest, "%064u", slot);
    }
    memset(pool.runs, 0, sizeof pool.runs);
    pool.has_ended = false;
    plan.reference_count = 1;
    assert_non_null(step_start(dispatcher, &options, &events, NULL));
    play(loop, discovery, 5);
    assert_true(pool.has_ended);
    assert_int_equal(pool.status, STATUS_OK);
    unsigned used = 0;
    for (unsigned index = 0; index < pool.count; index++) {
        assert_true(pool.runs[index] <= 1);
        used += pool.runs[index];
    }
    assert_int_equal(used, SLOTS);
}

/* Finds a pool of that many, runs a step, and loses a quarter of it. Returns how many comparisons that
 * took. */
static uint64_t
live_with(unsigned count)
{
    static char texts[POOL_MAX][ADDRESS_TEXT_SIZE];
    static Slice addresses[POOL_MAX];
    Call call = {0};
    Loop *loop = NULL;
    Discovery *discovery = NULL;
    Directory *directory = directory_new();
    DiscoveryOptions options = {.addresses = addresses, .address_count = count, .on_seen = on_seen};
    chance_begin(1);
    pool = (struct Pool){.count = count};
    list_init(&pool.calls);
    for (unsigned index = 0; index < count; index++) {
        (void)snprintf(texts[index], sizeof texts[index], "a%u", index);
        addresses[index] = slice_from_string(texts[index]);
    }
    uint64_t before = compare_count();
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    assert_status(&call, STATUS_OK, discovery_start(&call, loop, directory, &options, &discovery));
    Dispatcher *dispatcher = dispatcher_new(loop, directory, NULL, &(UpstreamOptions){0}, NULL);
    assert_non_null(dispatcher);
    play(loop, discovery, 2500);
    uint64_t compared = compare_count() - before;
    assert_int_equal(count_workers(directory, WORKER_SERVING), count);
    assert_int_equal(pool.told_count, count);
    before = compare_count();
    run_step(loop, discovery, dispatcher);
    run_step(loop, discovery, dispatcher);
    pool.down = count / 4;
    play(loop, discovery, 5000);
    compared += compare_count() - before;
    assert_int_equal(count_workers(directory, WORKER_LOST), count / 4);
    for (unsigned index = 0; index < count; index++) {
        assert_in_range(pool.polls[index], 7, 8);
    }
    assert_true(pool.turn_polls_max <= 2 * count / 50 + 2);
    assert_true(directory_version(directory) < 7500 / 20 + 1);
    dispatcher_free(dispatcher);
    discovery_stop(discovery);
    answer_calls();
    directory_free(directory);
    loop_free(loop);
    return compared;
}

static void
thousands_of_workers_are_found_used_and_lost(void **state)
{
    (void)state;
    uint64_t less = live_with(POOL_MAX / 4);
    uint64_t more = live_with(POOL_MAX);
    assert_in_range(more, less, 5 * less);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(thousands_of_workers_are_found_used_and_lost)};
    return cmocka_run_group_tests_name("pool simulation", tests, NULL, NULL);
}
