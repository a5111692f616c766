#include "tests/simulation/fake_upstream.h"

#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "tests/simulation/idle_upstream.h"

enum { EVENTS_MAX = 8192 };

struct UpstreamCall {
    ListLink link; /* in the list of calls */
    const UpstreamEvents *events;
    void *context;
    FakeWorker *worker;
    char path[256];
    char method[8];
    char incarnation[INCARNATION_TEXT_SIZE];
    int64_t attempt;
    FakeStep *step; /* of a call that runs a slot */
    int partition;
    bool has_begun;
    bool is_over; /* no callback comes any more */
    int http_status;
    Buffer body;
};

typedef struct Event {
    uint64_t due_ns;
    UpstreamCall *call;
    void (*act)(UpstreamCall *call);
} Event;

static ListLink calls;
static Event pending[EVENTS_MAX];
static size_t pending_count;

static void
event_add(Event event)
{
    CHECK(pending_count < EVENTS_MAX, "too many events");
    pending[pending_count++] = event;
}

static void
later(UpstreamCall *call, uint64_t most_ms, void (*act)(UpstreamCall *call))
{
    uint64_t pause_ns = chance(most_ms * 1000 + 1) * CLOCK_NS_PER_US;
    event_add((Event){simulated_ns + pause_ns, call, act});
}

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
    answer_status(
        call, &(WireStatus){.failure = failure_of(STATUS_ABORTED, (Slice){0}, "another slot has ended")});
}

static void
run_failed(UpstreamCall *call)
{
    answer_status(call, &(WireStatus){.failure = failure_of(STATUS_INVALID_ARGUMENT, SLICE("n"), "bad")});
}

/* Ends the other slots of a run, before or after the gateway hears of this one's end. */
static void
siblings_abort(const UpstreamCall *failed)
{
    LIST_EACH(&calls, link)
    {
        UpstreamCall *call = LIST_ITEM(link, UpstreamCall, link);
        if (call != failed && call->step != NULL && call->step == failed->step &&
            call->attempt == failed->attempt && call->has_begun) {
            later(call, 10, run_aborted);
        }
    }
}

/* Returns another slot of the run whose worker is down; NULL: none. */
static const UpstreamCall *
find_lost_sibling(const UpstreamCall *call)
{
    LIST_EACH(&calls, link)
    {
        const UpstreamCall *other = LIST_ITEM(link, UpstreamCall, link);
        if (other->step == call->step && other->attempt == call->attempt && !other->worker->is_up) {
            return other;
        }
    }
    return NULL;
}

static void
run_ended(UpstreamCall *call)
{
    AUTO_TENSOR tensor = {0};
    int slot = call->partition == 2 ? 1 : 0;
    if (call->is_over) {
        return;
    }
    const UpstreamCall *lost = find_lost_sibling(call);
    if (lost != NULL) {
        answer_status(
            call, &(WireStatus){.failure = failure_of(STATUS_UNAVAILABLE, (Slice){0}, "a peer is lost"),
                      .lost_peer = slice_from_string(lost->worker->address)});
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
    answer_status(call, &(WireStatus){.failure.code = STATUS_OK});
}

static void
run_late(UpstreamCall *call)
{
    answer_status(call, &(WireStatus){.failure = failure_of(STATUS_DEADLINE_EXCEEDED, (Slice){0},
                                          "the deadline has passed; waiting: node 'n' for a tensor")});
}

/* Ends a slot of a step that hangs, about its deadline: it reports the nodes that wait, or an abort, slot 1
 * perhaps before its deadline, while slot 0 may even end well behind it. */
static void
run_hangs(UpstreamCall *call)
{
    enum { WORD_MS = DEADLINE_GRACE_MS - 20, EARLY_MS = 50 };
    bool is_second = call->partition == 2;
    uint64_t deadline_ns = call->step->deadline_ns;
    uint64_t after_ns = deadline_ns + (1 + chance(WORD_MS)) * CLOCK_NS_PER_MS;
    if (is_second && one_in(3)) {
        event_add((Event){deadline_ns - chance(EARLY_MS) * CLOCK_NS_PER_MS, call, run_aborted});
    } else if (call->partition == 1 && call->step->failing_slot < 0 && one_in(3)) {
        event_add((Event){after_ns, call, run_ended});
    } else {
        event_add((Event){after_ns, call, one_in(2) ? run_late : run_aborted});
    }
}

static void
run_arrived(UpstreamCall *call)
{
    FakeWorker *worker = call->worker;
    if (one_in(world.weather.forget)) {
        worker->knows[call->partition] = false;
    }
    if (!worker->knows[call->partition]) {
        answer_status(
            call, &(WireStatus){.failure.code = STATUS_NOT_FOUND, .reason = SLICE("unknown_partition")});
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
    FakeWorker *worker = call->worker;
    char incarnation[INCARNATION_TEXT_SIZE];
    (void)snprintf(incarnation, sizeof incarnation, "%016llx", (unsigned long long)worker->incarnation);
    if (call->is_over || one_in(world.weather.loss)) {
        return;
    }
    if (!worker->is_up) {
        later(call, world.weather.silence, call_lost);
    } else if (call->incarnation[0] != '\0' && strcmp(call->incarnation, incarnation) != 0) {
        answer_document(call, 409,
            &(WireStatus){.failure = failure_of(STATUS_ABORTED, (Slice){0}, "it has restarted"),
                .incarnation = slice_from_string(incarnation)});
    } else if (call->step != NULL) {
        run_arrived(call);
    } else {
        const char *digest = strstr(call->path, "/partitions/digest");
        if (digest != NULL) {
            worker->knows[digest[strlen("/partitions/digest")] - '0'] = true;
        }
        call->http_status = 200;
        call_over(call, STATUS_OK, "");
    }
}

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
    LIST_EACH(&calls, link)
    {
        UpstreamCall *call = LIST_ITEM(link, UpstreamCall, link);
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
    UpstreamCall *call = memory_new(1, sizeof *call);
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
    list_append(&calls, &call->link);
    if (head->deadline_ms > 0) {
        event_add((Event){simulated_ns + (head->deadline_ms + 1000) * CLOCK_NS_PER_MS, call, call_lost});
    }
    return call;
}

void
upstream_write_copy(UpstreamCall *call, Slice data)
{
    static const char name[] = "digest";
    const char *found = memmem(data.data, data.size, name, strlen(name));
    if (found != NULL) {
        call->partition = found[strlen(name)] - '0';
    }
}

void
upstream_end(UpstreamCall *call)
{
    later(call, 3, call_arrived);
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

void
fake_upstream_begin(void)
{
    list_init(&calls);
    pending_count = 0;
}

bool
fake_upstream_is_idle(const FakeWorker *worker)
{
    LIST_EACH(&calls, link)
    {
        const UpstreamCall *call = LIST_ITEM(link, UpstreamCall, link);
        if (call->worker == worker && !call->is_over) {
            return false;
        }
    }
    return true;
}

void
fake_upstream_lose(const FakeWorker *worker)
{
    LIST_EACH(&calls, link)
    {
        UpstreamCall *call = LIST_ITEM(link, UpstreamCall, link);
        if (call->worker == worker && !call->is_over) {
            later(call, 5, call_lost);
            siblings_abort(call);
        }
    }
}

void
fake_upstream_turn(void)
{
    for (size_t index = 0; index < pending_count;) {
        Event event = pending[index];
        if (event.due_ns > simulated_ns) {
            index++;
            continue;
        }
        pending[index] = pending[--pending_count];
        if (!event.call->is_over) {
            event.act(event.call);
        }
    }
}
