#include "tests/simulation/world.h"

#include "tests/simulation/fake_upstream.h"

enum {
    SPAN_MS = 3000, /* the time in which steps begin */
    END_MS = 9000,
};

World world;

/* Two plans: one of one slot, one of two. */

static const PlanSlot slots[SLOTS_MAX] = {{.task = PLAN_TASK_NONE}, {.task = PLAN_TASK_NONE}};
static const uint32_t fetch_numbers[SLOTS_MAX] = {0, 1};
static const Slice fetch_names[SLOTS_MAX] = {{.data = "y0", .size = 2}, {.data = "y1", .size = 2}};
static const char document[] = "{}";
#define PARTITION(number, name)                                                                              \
    {                                                                                                        \
        .slot = (number), .digest = name, .document = {.data = document, .size = 2},                         \
        .fetches = &fetch_numbers[number], .fetch_count = 1                                                  \
    }
static const PlanPartition single[] = {PARTITION(0, "digest0")};
static const PlanPartition halves[] = {PARTITION(0, "digest1"), PARTITION(1, "digest2")};
static Plan plans[SLOTS_MAX] = {
    {.reference_count = 1,
        .fetches = fetch_names,
        .fetch_count = 1,
        .slots = slots,
        .slot_count = 1,
        .partitions = single,
        .partition_count = 1},
    {.reference_count = 1,
        .fetches = fetch_names,
        .fetch_count = 2,
        .slots = slots,
        .slot_count = 2,
        .partitions = halves,
        .partition_count = 2},
};

static void
publish(void)
{
    Roster *roster = roster_new(WORKERS, 0);
    assert_non_null(roster);
    for (int index = 0; index < WORKERS; index++) {
        const FakeWorker *worker = &world.workers[index];
        WorkerInfo *info = &roster->workers[index];
        info->task = index;
        info->state = WORKER_SERVING;
        (void)snprintf(info->name, sizeof info->name, "w%d", index);
        (void)snprintf(info->address, sizeof info->address, "%s", worker->address);
        (void)snprintf(
            info->incarnation, sizeof info->incarnation, "%016llx", (unsigned long long)worker->incarnation);
    }
    directory_publish(world.directory, roster);
}

static void
worker_crash(FakeWorker *worker)
{
    worker->is_up = false;
    worker->up_ns = simulated_ns + (20 + chance(100)) * CLOCK_NS_PER_MS;
    worker->told_ns = worker->up_ns + chance(1000) * CLOCK_NS_PER_MS;
    worker->incarnation++;
    memset(worker->knows, 0, sizeof worker->knows);
    fake_upstream_lose(worker);
}

/* Makes a worker another process, of which discovery does not hear. */
static void
worker_renew(FakeWorker *worker)
{
    worker->incarnation++;
    memset(worker->knows, 0, sizeof worker->knows);
}

static void
workers_live(void)
{
    FakeWorker *chosen = &world.workers[chance(WORKERS)];
    if (one_in(world.weather.renew) && fake_upstream_is_idle(chosen)) {
        worker_renew(chosen);
    }
    if (one_in(world.weather.crash)) {
        FakeWorker *worker = &world.workers[chance(WORKERS)];
        if (worker->is_up) {
            worker_crash(worker);
        }
    }
    for (size_t index = 0; index < WORKERS; index++) {
        FakeWorker *worker = &world.workers[index];
        worker->is_up = worker->is_up || simulated_ns >= worker->up_ns;
        if (worker->told_ns != 0 && simulated_ns >= worker->told_ns) {
            worker->told_ns = 0;
            publish();
        }
    }
}

static void
on_output(void *context, uint32_t fetch, const Tensor *tensor)
{
    FakeStep *step = context;
    (void)tensor;
    step->outputs[fetch]++;
}

static void
on_done(void *context, const StepReport *report)
{
    FakeStep *step = context;
    step->done_count++;
    step->end_ns = simulated_ns;
    step->status = report->failure.code;
    step->attempt = report->attempt;
    step->run = NULL;
}

static void
step_make(FakeStep *step, uint32_t number)
{
    *step = (FakeStep){
        .begin_ns = simulated_ns + chance(SPAN_MS) * CLOCK_NS_PER_MS,
        .is_pure = !one_in(3),
        .slot_count = 1 + chance(SLOTS_MAX),
        .failing_slot = -1,
    };
    memcpy(step->id.value.bytes, &number, sizeof number);
    step->deadline_ns = step->begin_ns + (200 + chance(2000)) * CLOCK_NS_PER_MS;
    if (one_in(4)) {
        step->failing_slot = (int)chance(step->slot_count);
    }
    if (one_in(world.weather.cancel)) {
        step->cancel_ns = step->begin_ns + chance(60) * CLOCK_NS_PER_MS;
    }
    step->hangs = one_in(world.weather.hang);
}

static void
step_begin(FakeStep *step)
{
    static const StepEvents events = {.on_output = on_output, .on_done = on_done};
    StepRunOptions options = {
        .id = step->id,
        .plan = &plans[step->slot_count - 1],
        .tenant = "t",
        .session = "ses_0",
        .request_id = "r",
        .deadline_ns = step->deadline_ns,
        .is_pure = step->is_pure,
    };
    step->run = step_start(world.dispatcher, &options, &events, step);
    assert_non_null(step->run);
}

static void
steps_live(void)
{
    for (size_t index = 0; index < STEPS; index++) {
        FakeStep *step = &world.steps[index];
        if (step->run == NULL && step->done_count == 0 && simulated_ns >= step->begin_ns) {
            step_begin(step);
        }
        if (step->run != NULL && step->cancel_ns != 0 && simulated_ns >= step->cancel_ns) {
            step_cancel(step->run, "nobody wants it any more");
            step->cancel_ns = UINT64_MAX;
        }
    }
}

void
world_open(const Weather *weather)
{
    Call call = {0};
    world = (World){.weather = *weather};
    fake_upstream_begin();
    assert_status(&call, STATUS_OK, loop_new(&call, &world.loop));
    world.directory = directory_new();
    for (size_t index = 0; index < WORKERS; index++) {
        world.workers[index] = (FakeWorker){.incarnation = index * 1000 + 1, .is_up = true};
        (void)snprintf(world.workers[index].address, sizeof world.workers[index].address, "w%zu:1", index);
    }
    if (weather->lacks_one) {
        world.workers[0].is_up = false;
        world.workers[0].up_ns = UINT64_MAX;
    }
    publish();
    for (uint32_t index = 0; index < STEPS; index++) {
        step_make(&world.steps[index], index + 1);
    }
    world.dispatcher = dispatcher_new(world.loop, world.directory, NULL, &(UpstreamOptions){0}, NULL);
    assert_non_null(world.dispatcher);
}

void
world_play(void)
{
    for (int turn = 0; turn < END_MS; turn++) {
        simulated_ns += CLOCK_NS_PER_MS;
        workers_live();
        steps_live();
        fake_upstream_turn();
        loop_turn(world.loop, 0);
    }
}

void
world_close(void)
{
    assert_int_equal(dispatcher_running_count(world.dispatcher), 0);
    dispatcher_free(world.dispatcher);
    directory_free(world.directory);
    loop_free(world.loop);
}
