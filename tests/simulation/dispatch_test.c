/* Dispatch among fake workers that are slow, forget, restart, die and lose messages: one thread, a clock of
 * the test's own, everything by chance from one seed. The functions of shared/upstream and of the clock are
 * this file's.
 *
 *     SLUICE_SEED=… build/release/tests/simulation/dispatch_test     plays one seed again
 *
 * Whatever happens, a step ends once, in time, with each output at most once; one that is not pure begins at
 * most once; a node's own error is told, never what it caused elsewhere. */
#include <stdio.h>
#include <stdlib.h>

#include "gateway/dispatch/step.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/base/text.h"
#include "tests/support/cmocka_all.h"

enum {
    WORKERS = 4,
    STEPS = 120,
    SLOTS_MAX = 2,
    PARTITIONS = 3,
    EVENTS_MAX = 8192,
    SPAN_MS = 3000, /* in which steps begin */
    END_MS = 9000,
    DEADLINE_GRACE_MS = 200,
    SEEDS = 40,
};

/* --- Chance and time ------------------------------------------------------------------------------------ */

static uint64_t seed;
static uint64_t chance_state;
static uint64_t now_ns;

/* splitmix64 */
static uint64_t
chance(uint64_t below)
{
    uint64_t mixed = (chance_state += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ (mixed >> 31)) % below;
}

static bool
one_in(uint64_t count)
{
    return count > 0 && chance(count) == 0;
}

uint64_t
clock_monotonic_ns(void)
{
    return now_ns;
}

uint64_t
clock_wall_us(void)
{
    return now_ns / CLOCK_NS_PER_US;
}

void
clock_stamp(uint64_t wall_us, char ret_stamp[CLOCK_STAMP_SIZE])
{
    (void)snprintf(ret_stamp, CLOCK_STAMP_SIZE, "%llu", (unsigned long long)wall_us);
}

#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            char text[256];                                                                                  \
            (void)snprintf(text, sizeof text, __VA_ARGS__);                                                  \
            fail_msg("SLUICE_SEED=%llu: %s", (unsigned long long)seed, text);                                \
        }                                                                                                    \
    } while (0)

/* --- The world ------------------------------------------------------------------------------------------ */

/* How rough it is: one in so many; 0: never. */
typedef struct Weather {
    uint64_t loss;   /* of calls, unanswered */
    uint64_t crash;  /* of milliseconds, one of the workers */
    uint64_t forget; /* of runs, the partition */
    uint64_t cancel; /* of steps, by its client */
    uint64_t hang;   /* of steps: they do not end by themselves */
} Weather;

typedef struct FakeWorker {
    char address[32];
    uint64_t incarnation;
    bool is_up;
    uint64_t up_ns;   /* when it comes back */
    uint64_t told_ns; /* when discovery tells; 0: it has */
    bool knows[PARTITIONS];
} FakeWorker;

typedef struct FakeStep {
    uint64_t begin_ns;
    uint64_t deadline_ns;
    uint64_t cancel_ns; /* 0: never */
    uint64_t end_ns;    /* 0: not yet */
    StepId id;
    StepRun *run;
    bool is_pure;
    bool hangs;
    int failing_slot; /* whose node fails; -1: none */
    int begun[SLOTS_MAX];
    int outputs[SLOTS_MAX];
    size_t slot_count;
    int done_count;
    Status status;
    int64_t attempt;
} FakeStep;

struct UpstreamCall {
    ListLink link; /* in world.calls */
    const UpstreamEvents *events;
    void *context;
    FakeWorker *worker;
    char path[256];
    char method[8];
    char incarnation[INCARNATION_TEXT_SIZE];
    int64_t attempt;
    FakeStep *step; /* of a run */
    int partition;
    bool has_begun;
    bool is_over; /* nothing calls back any more */
    int http_status;
    Buffer body;
};

typedef struct Event {
    uint64_t due_ns;
    UpstreamCall *call;
    void (*act)(UpstreamCall *call);
} Event;

static struct World {
    Weather weather;
    Loop *loop;
    Directory *directory;
    Dispatcher *dispatcher;
    FakeWorker workers[WORKERS];
    FakeStep steps[STEPS];
    ListLink calls;
    Event events[EVENTS_MAX];
    size_t event_count;
} world;

static void
later(UpstreamCall *call, uint64_t most_ms, void (*act)(UpstreamCall *call))
{
    CHECK(world.event_count < EVENTS_MAX, "too many events");
    const uint64_t pause_ns = chance(most_ms * 1000 + 1) * CLOCK_NS_PER_US;
    world.events[world.event_count++] = (Event){now_ns + pause_ns, call, act};
}

/* --- Plans: one of one slot, one of two ----------------------------------------------------------------- */

static const PlanSlot slots[SLOTS_MAX] = {
    {.device_type = "CPU", .task = PLAN_TASK_NONE}, {.device_type = "CPU", .task = PLAN_TASK_NONE}};
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

/* --- What workers answer -------------------------------------------------------------------------------- */

static void
call_over(UpstreamCall *call, Status status, const char *message)
{
    if (!call->is_over) {
        call->is_over = true;
        call->events->on_done(call, status, message);
    }
}

static void
call_lost(UpstreamCall *call)
{
    call_over(call, STATUS_UNAVAILABLE, "the connection to the worker was lost");
}

static void
answer_document(UpstreamCall *call, int http_status, const WireStatus *status)
{
    call->http_status = http_status;
    wire_status_write(&call->body, status);
    call_over(call, STATUS_OK, "");
}

static void
answer_status(UpstreamCall *call, const WireStatus *status)
{
    AUTO_BUFFER json = {0};
    wire_status_write(&json, status);
    Frame frame = {.kind = FRAME_STATUS, .json = buffer_slice(&json)};
    call->http_status = 200;
    if (!call->is_over) {
        call->events->on_frame(call, &frame);
        call_over(call, STATUS_OK, "");
    }
}

static void
run_aborted(UpstreamCall *call)
{
    answer_status(call, &(WireStatus){.code = STATUS_ABORTED, .message = SLICE("another slot has ended")});
}

static void
run_failed(UpstreamCall *call)
{
    answer_status(
        call, &(WireStatus){.code = STATUS_INVALID_ARGUMENT, .message = SLICE("bad"), .node = SLICE("n")});
}

/* The other slots of a run hear of its end, before or after the gateway does. */
static void
siblings_abort(const UpstreamCall *failed)
{
    LIST_EACH(&world.calls, link)
    {
        UpstreamCall *const call = LIST_ITEM(link, UpstreamCall, link);
        if (call != failed && call->step != NULL && call->step == failed->step &&
            call->attempt == failed->attempt && call->has_begun) {
            later(call, 10, run_aborted);
        }
    }
}

static void
run_ended(UpstreamCall *call)
{
    AUTO_TENSOR tensor = {0};
    const int slot = call->partition == 2 ? 1 : 0;
    if (call->is_over) {
        return;
    }
    if (call->step->failing_slot == slot) {
        siblings_abort(call);
        later(call, 10, run_failed);
        return;
    }
    assert_true(tensor_new(DTYPE_FLOAT32, &(Shape){0}, &tensor));
    Frame frame = {.kind = FRAME_TENSOR, .name = SLICE("0"), .tensor = tensor_ref(&tensor)};
    call->events->on_frame(call, &frame);
    answer_status(call, &(WireStatus){.code = STATUS_OK});
}

static void
run_late(UpstreamCall *call)
{
    answer_status(call, &(WireStatus){.code = STATUS_DEADLINE_EXCEEDED,
                            .message = SLICE("the deadline has passed; waiting: node 'n' for a tensor")});
}

/* At its deadline: slot 0 says what it waited for, slot 1 that, or that it was ended from elsewhere. */
static void
run_hangs(UpstreamCall *call)
{
    enum { WORD_MS = DEADLINE_GRACE_MS - 20 };
    const uint64_t due_ns = call->step->deadline_ns + (1 + chance(WORD_MS)) * CLOCK_NS_PER_MS;
    const bool is_told = call->partition != 2 || one_in(2);
    CHECK(world.event_count < EVENTS_MAX, "too many events");
    world.events[world.event_count++] = (Event){due_ns, call, is_told ? run_late : run_aborted};
}

static void
run_arrived(UpstreamCall *call)
{
    FakeWorker *const worker = call->worker;
    if (one_in(world.weather.forget)) {
        worker->knows[call->partition] = false;
    }
    if (!worker->knows[call->partition]) {
        answer_status(call, &(WireStatus){.code = STATUS_NOT_FOUND, .reason = SLICE("unknown_partition")});
        return;
    }
    call->has_begun = true;
    call->step->begun[call->partition == 2 ? 1 : 0]++;
    if (call->step->hangs) {
        run_hangs(call);
    } else {
        later(call, 30, run_ended);
    }
}

static void
call_arrived(UpstreamCall *call)
{
    FakeWorker *const worker = call->worker;
    char incarnation[INCARNATION_TEXT_SIZE];
    (void)snprintf(incarnation, sizeof incarnation, "%016llx", (unsigned long long)worker->incarnation);
    if (call->is_over || one_in(world.weather.loss)) {
        return;
    }
    if (!worker->is_up) {
        call_lost(call);
    } else if (call->incarnation[0] != '\0' && strcmp(call->incarnation, incarnation) != 0) {
        answer_document(call, 409,
            &(WireStatus){.code = STATUS_ABORTED,
                .message = SLICE("it has restarted"),
                .incarnation = slice_from_string(incarnation)});
    } else if (call->step != NULL) {
        run_arrived(call);
    } else {
        const char *const digest = strstr(call->path, "/partitions/digest");
        if (digest != NULL) {
            worker->knows[digest[strlen("/partitions/digest")] - '0'] = true;
        }
        call->http_status = 200;
        call_over(call, STATUS_OK, "");
    }
}

/* --- shared/upstream, as dispatch sees it --------------------------------------------------------------- */

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
    LIST_EACH(&world.calls, link)
    {
        UpstreamCall *const call = LIST_ITEM(link, UpstreamCall, link);
        call_over(call, STATUS_UNAVAILABLE, "the gateway is stopping");
        list_remove(&call->link);
        buffer_done(&call->body);
        memory_free(call);
    }
    memory_free(upstream);
}

static FakeStep *
step_of_path(const char *path)
{
    for (size_t index = 0; index < STEPS; index++) {
        char run[128];
        char id[ID_TEXT_SIZE];
        id_to_text("stp", world.steps[index].id.value, id);
        (void)snprintf(run, sizeof run, "/worker/v1/steps/%s:run", id);
        if (strcmp(run, path) == 0) {
            return &world.steps[index];
        }
    }
    return NULL;
}

UpstreamCall *
upstream_begin(Upstream *upstream, const UpstreamHead *head, const UpstreamEvents *events, void *context)
{
    UpstreamCall *const call = memory_new(1, sizeof *call);
    (void)upstream;
    assert_non_null(call);
    call->events = events;
    call->context = context;
    call->attempt = head->attempt;
    (void)snprintf(call->path, sizeof call->path, "%.*s", SLICE_PRINT(head->path));
    (void)snprintf(call->method, sizeof call->method, "%s", head->method);
    (void)snprintf(call->incarnation, sizeof call->incarnation, "%.*s", SLICE_PRINT(head->incarnation));
    call->step = step_of_path(call->path);
    for (size_t index = 0; index < WORKERS; index++) {
        if (strcmp(world.workers[index].address, head->address) == 0) {
            call->worker = &world.workers[index];
        }
    }
    assert_non_null(call->worker);
    list_append(&world.calls, &call->link);
    if (head->deadline_ms > 0) {
        world.events[world.event_count++] =
            (Event){now_ns + (head->deadline_ms + 1000) * CLOCK_NS_PER_MS, call, call_lost};
    }
    return call;
}

void
upstream_write_copy(UpstreamCall *call, Slice data)
{
    static const char name[] = "digest";
    const char *const found = memmem(data.data, data.size, name, strlen(name));
    if (found != NULL) {
        call->partition = found[strlen(name)] - '0';
    }
}

void
upstream_write_tensor(UpstreamCall *call, Slice name, const Tensor *tensor)
{
    (void)call;
    (void)name;
    (void)tensor;
}

void
upstream_write_buffer(UpstreamCall *call, Slice data, TensorBuffer *buffer)
{
    (void)call;
    (void)data;
    (void)buffer;
}

void
upstream_end(UpstreamCall *call)
{
    later(call, 3, call_arrived);
}

void
upstream_pause(UpstreamCall *call)
{
    (void)call;
}

void
upstream_resume(UpstreamCall *call)
{
    (void)call;
}

void
upstream_cancel(UpstreamCall *call)
{
    call_over(call, STATUS_CANCELLED, "cancelled");
}

void
upstream_detach(UpstreamCall *call)
{
    call->is_over = true;
}

void *
upstream_context(const UpstreamCall *call)
{
    return call->context;
}

int
upstream_http_status(const UpstreamCall *call)
{
    return call->http_status;
}

Slice
upstream_body(const UpstreamCall *call)
{
    return buffer_slice(&call->body);
}

/* --- Workers come and go -------------------------------------------------------------------------------- */

static void
publish(void)
{
    Roster *const roster = roster_new(WORKERS);
    assert_non_null(roster);
    for (int index = 0; index < WORKERS; index++) {
        const FakeWorker *const worker = &world.workers[index];
        WorkerInfo *const info = &roster->workers[index];
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
    worker->up_ns = now_ns + (20 + chance(100)) * CLOCK_NS_PER_MS;
    worker->told_ns = worker->up_ns + chance(1000) * CLOCK_NS_PER_MS;
    worker->incarnation++;
    memset(worker->knows, 0, sizeof worker->knows);
    LIST_EACH(&world.calls, link)
    {
        UpstreamCall *const call = LIST_ITEM(link, UpstreamCall, link);
        if (call->worker == worker && !call->is_over) {
            later(call, 5, call_lost);
            siblings_abort(call);
        }
    }
}

static void
workers_live(void)
{
    if (one_in(world.weather.crash)) {
        FakeWorker *const worker = &world.workers[chance(WORKERS)];
        if (worker->is_up) {
            worker_crash(worker);
        }
    }
    for (size_t index = 0; index < WORKERS; index++) {
        FakeWorker *const worker = &world.workers[index];
        worker->is_up = worker->is_up || now_ns >= worker->up_ns;
        if (worker->told_ns != 0 && now_ns >= worker->told_ns) {
            worker->told_ns = 0;
            publish();
        }
    }
}

/* --- Steps ---------------------------------------------------------------------------------------------- */

static void
on_output(void *context, uint32_t fetch, const Tensor *tensor)
{
    FakeStep *const step = context;
    (void)tensor;
    step->outputs[fetch]++;
}

static void
on_done(void *context, const StepReport *report)
{
    FakeStep *const step = context;
    step->done_count++;
    step->end_ns = now_ns;
    step->status = report->status;
    step->attempt = report->attempt;
    step->run = NULL;
}

static void
step_make(FakeStep *step, uint32_t number)
{
    *step = (FakeStep){
        .begin_ns = now_ns + chance(SPAN_MS) * CLOCK_NS_PER_MS,
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
    const StepRequest request = {
        .id = step->id,
        .plan = &plans[step->slot_count - 1],
        .tenant = "t",
        .session = "ses_0",
        .request_id = "r",
        .deadline_ns = step->deadline_ns,
        .is_pure = step->is_pure,
    };
    step->run = step_start(world.dispatcher, &request, &events, step);
    assert_non_null(step->run);
}

static void
steps_live(void)
{
    for (size_t index = 0; index < STEPS; index++) {
        FakeStep *const step = &world.steps[index];
        if (step->run == NULL && step->done_count == 0 && now_ns >= step->begin_ns) {
            step_begin(step);
        }
        if (step->run != NULL && step->cancel_ns != 0 && now_ns >= step->cancel_ns) {
            step_cancel(step->run, "nobody wants it any more");
            step->cancel_ns = UINT64_MAX;
        }
    }
}

static void
step_check(const FakeStep *step, size_t number)
{
    CHECK(step->done_count == 1, "step %zu has ended %d times", number, step->done_count);
    CHECK(step->end_ns <= step->deadline_ns + (DEADLINE_GRACE_MS + 2) * CLOCK_NS_PER_MS,
        "step %zu has ended %llu ms too late", number,
        (unsigned long long)((step->end_ns - step->deadline_ns) / CLOCK_NS_PER_MS));
    for (size_t slot = 0; slot < step->slot_count; slot++) {
        CHECK(step->outputs[slot] <= 1, "step %zu has handed on output %zu twice", number, slot);
        CHECK(step->status != STATUS_OK || step->outputs[slot] == 1, "step %zu is OK without output %zu",
            number, slot);
        CHECK(step->is_pure || step->begun[slot] <= 1, "step %zu is not pure and began %d times", number,
            step->begun[slot]);
    }
    CHECK(step->status != STATUS_OK || step->failing_slot < 0, "step %zu is OK though a node failed", number);
    CHECK(step->status != STATUS_INTERNAL, "step %zu ended with INTERNAL", number);
    CHECK(step->status != STATUS_CANCELLED || step->cancel_ns == UINT64_MAX, "nobody cancelled step %zu",
        number);
    CHECK(step->status != STATUS_INVALID_ARGUMENT || step->failing_slot >= 0, "no node of step %zu failed",
        number);
}

/* --- The play ------------------------------------------------------------------------------------------- */

static void
world_open(const Weather *weather)
{
    Call call = {0};
    world = (struct World){.weather = *weather};
    now_ns = CLOCK_NS_PER_S;
    chance_state = seed;
    list_init(&world.calls);
    assert_status(&call, STATUS_OK, loop_new(&call, &world.loop));
    world.directory = directory_new();
    for (size_t index = 0; index < WORKERS; index++) {
        world.workers[index] = (FakeWorker){.incarnation = index * 1000 + 1, .is_up = true};
        (void)snprintf(world.workers[index].address, sizeof world.workers[index].address, "w%zu:1", index);
    }
    publish();
    for (uint32_t index = 0; index < STEPS; index++) {
        step_make(&world.steps[index], index + 1);
    }
    world.dispatcher = dispatcher_new(world.loop, world.directory, &(UpstreamOptions){0});
    assert_non_null(world.dispatcher);
}

static void
world_close(void)
{
    assert_int_equal(dispatcher_running_count(world.dispatcher), 0);
    dispatcher_free(world.dispatcher);
    directory_free(world.directory);
    loop_free(world.loop);
}

static void
events_happen(void)
{
    for (size_t index = 0; index < world.event_count;) {
        const Event event = world.events[index];
        if (event.due_ns > now_ns) {
            index++;
            continue;
        }
        world.events[index] = world.events[--world.event_count];
        if (!event.call->is_over) {
            event.act(event.call);
        }
    }
}

static void
play(const Weather *weather)
{
    world_open(weather);
    for (int turn = 0; turn < END_MS; turn++) {
        now_ns += CLOCK_NS_PER_MS;
        workers_live();
        steps_live();
        events_happen();
        loop_turn(world.loop, 0);
    }
    for (size_t index = 0; index < STEPS; index++) {
        step_check(&world.steps[index], index);
    }
}

/* One seed when somebody asks for it; else as many, of which the last is new each time. */
static void
play_seeds(const Weather *weather, void (*check)(void))
{
    uint64_t asked = 0;
    const char *const text = getenv("SLUICE_SEED");
    const bool is_asked = text != NULL && slice_to_uint64(slice_from_string(text), &asked);
    for (uint64_t turn = 1; turn <= (is_asked ? 1 : SEEDS); turn++) {
        seed = is_asked ? asked : turn < SEEDS ? turn : random_uint64();
        play(weather);
        if (check != NULL) {
            check();
        }
        world_close();
    }
    print_message("the last seed was SLUICE_SEED=%llu\n", (unsigned long long)seed);
}

static void
check_causes(void)
{
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *const step = &world.steps[index];
        const Status wanted = step->failing_slot >= 0 ? STATUS_INVALID_ARGUMENT : STATUS_OK;
        CHECK(step->status == wanted && step->attempt == 1, "step %zu ended as %s in attempt %lld", index,
            status_name(step->status), (long long)step->attempt);
    }
}

static void
in_fair_weather_every_step_ends_at_once_with_its_own_result(void **state)
{
    (void)state;
    play_seeds(&(Weather){0}, check_causes);
}

static void
check_late(void)
{
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *const step = &world.steps[index];
        CHECK(step->hangs == (step->status == STATUS_DEADLINE_EXCEEDED), "step %zu ended as %s", index,
            status_name(step->status));
    }
}

static void
a_step_that_its_deadline_ends_says_so_whoever_hears_of_it_first(void **state)
{
    (void)state;
    play_seeds(&(Weather){.hang = 2}, check_late);
}

static void
check_most_succeed(void)
{
    int pure = 0;
    int good = 0;
    for (size_t index = 0; index < STEPS; index++) {
        const FakeStep *const step = &world.steps[index];
        if (step->is_pure && step->failing_slot < 0) {
            pure++;
            good += step->status == STATUS_OK ? 1 : 0;
        }
    }
    CHECK(good * 10 >= pure * 8, "of %d pure steps only %d succeeded", pure, good);
}

/* A worker that forgets the same partition three times in a row is given up, which chance allows. */
static void
partitions_that_are_forgotten_are_registered_again(void **state)
{
    (void)state;
    play_seeds(&(Weather){.forget = 20}, check_most_succeed);
}

static void
while_workers_die_pure_steps_go_on_elsewhere(void **state)
{
    (void)state;
    play_seeds(&(Weather){.crash = 200}, check_most_succeed);
}

static void
in_a_storm_every_step_still_ends_once_and_in_time(void **state)
{
    (void)state;
    play_seeds(&(Weather){.loss = 20, .crash = 60, .forget = 10, .cancel = 5}, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_fair_weather_every_step_ends_at_once_with_its_own_result),
        cmocka_unit_test(a_step_that_its_deadline_ends_says_so_whoever_hears_of_it_first),
        cmocka_unit_test(partitions_that_are_forgotten_are_registered_again),
        cmocka_unit_test(while_workers_die_pure_steps_go_on_elsewhere),
        cmocka_unit_test(in_a_storm_every_step_still_ends_once_and_in_time),
    };
    return cmocka_run_group_tests_name("dispatch simulation", tests, NULL, NULL);
}
