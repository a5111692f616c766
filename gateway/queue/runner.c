/* A turn of the thread: heartbeat and sweep when they are due → claim the steps that are wanted →
 * hand each on → give loose keys back → wait for a waking, the next due time, or POLL_MS.
 *
 * Failures: a turn does nothing while PostgreSQL cannot be reached; leases that ran out meanwhile are
 * found lost at the next heartbeat, and the steps that ran under them are cancelled. */
#include "gateway/queue/runner.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "gateway/queue/held_steps.h"
#include "gateway/queue/loose_keys.h"
#include "gateway/queue/metrics.h"
#include "gateway/store/listener.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    POLL_MS = 500,
    LISTEN_MS = 250,
    TURN_MS = 20000, /* the time in which one turn's statements must be answered */
    CLAIM_BATCH_MAX = 100,
    ARENA_SIZE_MAX = 64 << 20,
    SWEEP_PAUSE_MIN_MS = 200,
    HINT_PAUSE_MS = 400,
    CLAIM_PAUSE_MS = 4, /* between two claims; steps that come meanwhile are claimed together */
};

struct QueueRunner {
    QueueRunnerOptions options;
    HeldSteps held;
    LooseKeys keys;
    Store *store;      /* used by the runner's thread only, as the times below */
    uint64_t beat_ns;  /* when the next heartbeat is due */
    uint64_t hint_ns;  /* when a hint may bring the next heartbeat */
    uint64_t claim_ns; /* when the next claim may be made */
    uint64_t sweep_ns;
    Store *listener; /* used by the listening thread only */
    pthread_t thread;
    pthread_t listening;
    sem_t wake;
    bool is_beat_wanted; /* atomic */
    bool is_hinted;      /* atomic: a step was queued or is to be cancelled */
    bool is_full;        /* atomic: steps are held, and the queue may have more of the same tenants */
    bool is_stopping;    /* atomic */
};

static Status
listen_once(QueueRunner *runner, Call *call)
{
    bool is_woken = false;
    if (runner->listener == NULL) {
        StoreOptions options = {.conninfo = runner->options.conninfo, .role = STORE_ROLE_QUEUE};
        TRY(store_open(call, &options, &runner->listener));
        TRY(listener_begin(call, runner->listener, runner->options.owner));
        if (runner->options.mail_begins != NULL) {
            runner->options.mail_begins(runner->options.context);
        }
    }
    MailBox box = {.receive = runner->options.mail, .context = runner->options.context};
    TRY(listener_wait(call, runner->listener, LISTEN_MS, box.receive == NULL ? NULL : &box, &is_woken));
    if (is_woken) {
        atomic_store_release(&runner->is_hinted, true);
        queue_runner_wake(runner);
    }
    return STATUS_OK;
}

static bool
is_stopping(const QueueRunner *runner)
{
    return atomic_load_acquire(&runner->is_stopping);
}

static void
pause_listening(void)
{
    struct timespec pause = {.tv_nsec = (long)(LISTEN_MS * CLOCK_NS_PER_MS)};
    (void)nanosleep(&pause, NULL);
}

static void *
run_listener(void *context)
{
    QueueRunner *runner = context;
    AUTO_ARENA arena = arena_new(1 << 20);
    while (!is_stopping(runner)) {
        Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + TURN_MS * CLOCK_NS_PER_MS};
        if (arena == NULL || listen_once(runner, &call) != STATUS_OK) {
            store_close(TAKE(runner->listener));
            pause_listening();
        }
        arena_clear(arena);
    }
    store_close(TAKE(runner->listener));
    return NULL;
}

/* Cancels a step whose hold is lost: none of its work can change its record any more. */
static void
cancel_lost_step(QueueRunner *runner, const HeldStep *step)
{
    char id[ID_TEXT_SIZE];
    id_to_text("stp", step->hold.id.value, id);
    log_event(LOG_WARNING, "the lease of a step was lost", log_text("step", id));
    runner->options.cancel(runner->options.context, step->loop_index, &step->hold);
}

/* Acts on the heartbeat's answer for one step. A step that does not run yet cannot be cancelled: it is asked
 * about again soon. */
static void
heed_beat(QueueRunner *runner, const HeldStep *step, const StepBeat *beat)
{
    if (step->loop_index == QUEUE_NO_LOOP) {
        if (beat->is_cancel_requested) {
            atomic_store_release(&runner->is_hinted, true);
        }
    } else if (!beat->is_held) {
        cancel_lost_step(runner, step);
    } else if (beat->is_cancel_requested) {
        runner->options.cancel(runner->options.context, step->loop_index, &step->hold);
    }
}

static Status
send_heartbeat(QueueRunner *runner, Call *call)
{
    size_t count = 0;
    const HeldStep *steps = held_steps_copy(&runner->held, call->arena, &count);
    StepHold *holds = arena_alloc(call->arena, (count + 1) * sizeof *holds);
    StepBeat *beats = arena_alloc(call->arena, (count + 1) * sizeof *beats);
    if (steps == NULL || holds == NULL || beats == NULL) {
        return call_fail_memory(call, "a heartbeat");
    }
    if (count == 0) {
        return STATUS_OK;
    }
    for (size_t index = 0; index < count; index++) {
        holds[index] = steps[index].hold;
    }
    TRY(queue_heartbeat(call, runner->store, holds, count, runner->options.lease_ms, beats));
    for (size_t index = 0; index < count; index++) {
        heed_beat(runner, &steps[index], &beats[index]);
    }
    return STATUS_OK;
}

/* Returns whether a heartbeat is due. Most hints are of queued steps, so hints bring a heartbeat, which
 * learns of cancellations, only now and then. */
static bool
is_beat_due(QueueRunner *runner, uint64_t now_ns)
{
    if (atomic_exchange_acq_rel(&runner->is_beat_wanted, false) || now_ns >= runner->beat_ns) {
        return true;
    }
    return now_ns >= runner->hint_ns && atomic_exchange_acq_rel(&runner->is_hinted, false);
}

static Status
keep_leases(QueueRunner *runner, Call *call, uint64_t now_ns)
{
    uint64_t lease_ns = runner->options.lease_ms * CLOCK_NS_PER_MS;
    if (is_beat_due(runner, now_ns)) {
        TRY(send_heartbeat(runner, call));
        runner->beat_ns = now_ns + lease_ns / 3;
        runner->hint_ns = now_ns + HINT_PAUSE_MS * CLOCK_NS_PER_MS;
    }
    if (now_ns >= runner->sweep_ns) {
        uint64_t pause_ns = SWEEP_PAUSE_MIN_MS * CLOCK_NS_PER_MS;
        uint64_t swept = 0;
        TRY(queue_sweep(call, runner->store, &swept));
        runner->sweep_ns = now_ns + (lease_ns / 3 > pause_ns ? lease_ns / 3 : pause_ns);
    }
    return STATUS_OK;
}

static void
give_back(QueueRunner *runner, Call *call, const StepHold *hold)
{
    StepOutcome reason = {.state = STEP_QUEUED};
    StepState state;
    if (queue_retry(call, runner->store, hold, &reason, false, &state) != STATUS_OK) {
        log_failure(LOG_WARNING, "a claimed step could not be given back, its lease will run out", call);
    }
    held_steps_remove(&runner->held, hold);
}

static void
hand_on(QueueRunner *runner, Call *call, const StepRecord *step)
{
    HeldStep held = {
        .hold = {.tenant = step->tenant, .id = step->id, .fence = step->fence},
        .loop_index = QUEUE_NO_LOOP,
        .is_claimed = true,
        .may_repeat = true,
    };
    metric_add(&metric_queue_claimed, 0, 1);
    if (!held_steps_add(&runner->held, &held) || !runner->options.run(runner->options.context, step)) {
        give_back(runner, call, &held.hold);
    }
}

/* Returns how many held steps of the tenant only stand ready. */
static size_t
count_ready(const HeldStep *steps, size_t count, TenantId tenant)
{
    size_t ready = 0;
    for (size_t index = 0; index < count; index++) {
        const HeldStep *step = &steps[index];
        ready += step->is_claimed && !step->has_begun && uuid_equal(step->hold.tenant.value, tenant.value);
    }
    return ready;
}

/* Says what is wanted of each tenant: what its stock lacks. */
static Status
find_wants(QueueRunner *runner, Call *call, QueueWants *ret_wants)
{
    AdmissionStock *stocks = NULL;
    size_t tenant_count = 0;
    size_t held_count = 0;
    bool has_stocks = admission_stocks(runner->options.admission, call->arena, &stocks, &tenant_count);
    TenantId *tenants = arena_alloc(call->arena, (tenant_count + 1) * sizeof *tenants);
    size_t *counts = arena_alloc(call->arena, (tenant_count + 1) * sizeof *counts);
    const HeldStep *held = held_steps_copy(&runner->held, call->arena, &held_count);
    if (!has_stocks || tenants == NULL || counts == NULL || held == NULL) {
        return call_fail_memory(call, "the steps that are wanted");
    }
    for (size_t index = 0; index < tenant_count; index++) {
        size_t ready = count_ready(held, held_count, stocks[index].tenant);
        tenants[index] = stocks[index].tenant;
        counts[index] = ready < stocks[index].count ? stocks[index].count - ready : 0;
    }
    *ret_wants = (QueueWants){
        .tenants = tenants, .counts = counts, .tenant_count = tenant_count, .others = ADMISSION_STOCK_MIN};
    return STATUS_OK;
}

/* Claims the steps that are wanted. *ret_is_more: as many as possible came at once, and there may be more. */
static Status
claim_steps(QueueRunner *runner, Call *call, bool *ret_is_more)
{
    /* The flag is set before steps are counted: those that begin or are forgotten from now on wake this
     * thread. */
    atomic_store_seq_cst(&runner->is_full, true);
    size_t active = held_steps_claimed(&runner->held);
    size_t room = active < runner->options.held_max ? runner->options.held_max - active : 0;
    QueueWants wants;
    StepList steps = {0};
    *ret_is_more = false;
    if (room == 0 || !runner->options.is_ready(runner->options.context)) {
        return STATUS_OK;
    }
    TRY(find_wants(runner, call, &wants));
    wants.room = room < CLAIM_BATCH_MAX ? room : CLAIM_BATCH_MAX;
    TRY(queue_claim(call, runner->store, runner->options.owner, &wants, runner->options.lease_ms, &steps));
    for (size_t index = 0; index < steps.count; index++) {
        hand_on(runner, call, &steps.items[index]);
    }
    if (steps.count == 0 && active == 0) {
        atomic_store_seq_cst(&runner->is_full, false);
    }
    runner->claim_ns = clock_monotonic_ns() + CLAIM_PAUSE_MS * CLOCK_NS_PER_MS;
    *ret_is_more = steps.count == CLAIM_BATCH_MAX;
    return STATUS_OK;
}

static Status
take_turn(QueueRunner *runner, Call *call, bool *ret_is_more)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (runner->store == NULL) {
        StoreOptions options = {.conninfo = runner->options.conninfo, .role = STORE_ROLE_QUEUE};
        TRY(store_open(call, &options, &runner->store));
    }
    TRY(keep_leases(runner, call, now_ns));
    TRY(claim_steps(runner, call, ret_is_more));
    return loose_keys_return(call, runner->store, &runner->keys);
}

/* Waits for the pause between two claims. Under load steps are queued and forgotten one by one, and a
 * claim for each would cost more than their runs. */
static void
wait_for_claim(const QueueRunner *runner)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns < runner->claim_ns) {
        struct timespec pause = {.tv_nsec = (long)(runner->claim_ns - now_ns)};
        (void)nanosleep(&pause, NULL);
    }
}

static void
wait_for_wake(QueueRunner *runner)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t poll_ns = now_ns + POLL_MS * CLOCK_NS_PER_MS;
    uint64_t end_ns = runner->beat_ns < runner->sweep_ns ? runner->beat_ns : runner->sweep_ns;
    end_ns = end_ns < now_ns ? now_ns + SWEEP_PAUSE_MIN_MS * CLOCK_NS_PER_MS : end_ns;
    end_ns = end_ns < poll_ns ? end_ns : poll_ns;
    struct timespec end = {
        .tv_sec = (time_t)(end_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(end_ns % CLOCK_NS_PER_S),
    };
    while (sem_clockwait(&runner->wake, CLOCK_MONOTONIC, &end) != 0 && errno == EINTR) {}
    wait_for_claim(runner);
    while (sem_trywait(&runner->wake) == 0) {
        /* one turn serves any number of wakings */
    }
}

static void *
run_runner(void *context)
{
    QueueRunner *runner = context;
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    while (!is_stopping(runner)) {
        bool is_more = false;
        Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + TURN_MS * CLOCK_NS_PER_MS};
        if (arena == NULL || take_turn(runner, &call, &is_more) != STATUS_OK) {
            log_failure(LOG_WARNING, "the queue cannot be reached", &call);
            is_more = false;
        }
        arena_clear(arena);
        if (!is_more) {
            wait_for_wake(runner);
        }
    }
    return NULL;
}

void
queue_runner_wake(QueueRunner *runner)
{
    if (runner != NULL) {
        (void)sem_post(&runner->wake);
    }
}

void
queue_runner_wake_beat(QueueRunner *runner)
{
    if (runner != NULL) {
        atomic_store_release(&runner->is_beat_wanted, true);
        (void)sem_post(&runner->wake);
    }
}

Status
queue_runner_hold(Call *call, QueueRunner *runner, const StepHold *hold, int loop_index)
{
    HeldStep step = {.hold = *hold, .loop_index = loop_index};
    return held_steps_add(&runner->held, &step)
               ? STATUS_OK
               : call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the gateway holds too many durable steps");
}

void
queue_runner_note(QueueRunner *runner, const StepHold *hold, int loop_index, bool may_repeat)
{
    held_steps_note(&runner->held, hold, loop_index, may_repeat);
}

/* Wakes the thread when more steps may be wanted that the last claims have left. */
static void
want_more(QueueRunner *runner)
{
    if (atomic_load_seq_cst(&runner->is_full)) {
        queue_runner_wake(runner);
    }
}

void
queue_runner_begin(QueueRunner *runner, const StepHold *hold, bool may_repeat)
{
    held_steps_begin(&runner->held, hold, may_repeat);
    want_more(runner);
}

void
queue_runner_forget(QueueRunner *runner, const StepHold *hold)
{
    held_steps_remove(&runner->held, hold);
    want_more(runner);
}

void
queue_runner_return_key(QueueRunner *runner, TenantId tenant, const char *key, Uuid owner)
{
    assert(strlen(key) < IDEMPOTENCY_KEY_SIZE);

    LooseKey loose = {.tenant = tenant, .owner = owner};
    memcpy(loose.text, key, strlen(key) + 1);
    loose_keys_add(&runner->keys, &loose);
    queue_runner_wake(runner);
}

size_t
queue_runner_active(QueueRunner *runner)
{
    return runner == NULL ? 0 : held_steps_claimed(&runner->held);
}

static Status
start_threads(Call *call, QueueRunner *runner)
{
    if (pthread_create(&runner->thread, NULL, run_runner, runner) != 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
    }
    if (pthread_create(&runner->listening, NULL, run_listener, runner) != 0) {
        atomic_store_release(&runner->is_stopping, true);
        queue_runner_wake(runner);
        (void)pthread_join(runner->thread, NULL);
        return call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
    }
    return STATUS_OK;
}

Status
queue_runner_new(Call *call, const QueueRunnerOptions *options, QueueRunner **ret_runner)
{
    assert(options->conninfo != NULL && options->owner != NULL);

    QueueRunner *runner = memory_new(1, sizeof *runner);
    if (runner == NULL) {
        return call_fail_memory(call, "the queue's runner");
    }
    runner->options = *options;
    held_steps_init(&runner->held);
    loose_keys_init(&runner->keys);
    (void)sem_init(&runner->wake, 0, 0);
    Status status = start_threads(call, runner);
    if (status != STATUS_OK) {
        queue_runner_free(runner);
        return status;
    }
    *ret_runner = runner;
    return STATUS_OK;
}

static void
give_all_back(QueueRunner *runner)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + 2 * CLOCK_NS_PER_S};
    size_t count = 0;
    const HeldStep *steps = arena == NULL ? NULL : held_steps_copy(&runner->held, arena, &count);
    for (size_t index = 0; steps != NULL && runner->store != NULL && index < count; index++) {
        if (steps[index].is_claimed && steps[index].may_repeat) {
            give_back(runner, &call, &steps[index].hold);
        }
    }
}

void
queue_runner_stop(QueueRunner *runner)
{
    if (runner == NULL) {
        return;
    }
    atomic_store_release(&runner->is_stopping, true);
    queue_runner_wake(runner);
    (void)pthread_join(runner->thread, NULL);
    (void)pthread_join(runner->listening, NULL);
    give_all_back(runner);
}

void
queue_runner_free(QueueRunner *runner)
{
    if (runner == NULL) {
        return;
    }
    store_close(runner->store);
    held_steps_done(&runner->held);
    loose_keys_done(&runner->keys);
    (void)sem_destroy(&runner->wake);
    memory_free(runner);
}
