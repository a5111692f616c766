/* A turn of the thread: the workers' slots are counted → what tenants do is told → the round is made in
 * PostgreSQL → admission goes on with what it has brought → a pause, which ends early when admission asks.
 *
 * Failures: a round that PostgreSQL does not answer for is given up, and admission goes on without. */
#include "gateway/queue/pool_lease.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "gateway/admission/round.h"
#include "gateway/queue/metrics.h"
#include "gateway/store/pool.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    PAUSE_MS = SHARES_PERIOD_MS,
    IDLE_PAUSE_MS = 1000,
    PAUSE_MIN_MS = 5,
    ROUND_MS = 1000, /* the time in which a round must be answered */
    ARENA_SIZE_MAX = 16 << 20,
};

struct PoolLease {
    PoolLeaseOptions options;
    Admission *admission;
    Store *store; /* used by the thread only, as the next is */
    bool is_lost; /* the last round failed: only the first failure, and the end of them, is logged */
    pthread_t thread;
    bool has_thread;
    sem_t wake;
    bool is_stopping; /* atomic */
};

static Status
list_reported(Call *call, const AdmissionReport *report, TenantId **ret_ids)
{
    TenantId *ids = arena_alloc(call->arena, (report->tenant_count + 1) * sizeof *ids);
    if (ids == NULL) {
        return call_fail_memory(call, "a report");
    }
    for (size_t index = 0; index < report->tenant_count; index++) {
        ids[index] = report->tenants[index].id;
    }
    *ret_ids = ids;
    return STATUS_OK;
}

static Status
make_round(
    PoolLease *lease, Call *call, const AdmissionReport *report, double slots, AdmissionGrant *ret_grant)
{
    const char *owner = lease->options.owner;
    AdmissionRound round;
    TenantId *reported = NULL;
    if (lease->store == NULL) {
        StoreOptions options = {.conninfo = lease->options.conninfo, .role = STORE_ROLE_QUEUE};
        TRY(store_open(call, &options, &lease->store));
    }
    TRY(list_reported(call, report, &reported));
    PoolMember member = {owner, POOL_LEASE_MS, reported, report->tenant_count};
    TRY(pool_round_begin(call, lease->store, &member, &round.pool, &round.report));
    AUTO_TRANSACTION transaction = lease->store;
    round.pool.slot_count = slots;
    round.report.virtual_time = report->virtual_time;
    if (!admission_round(call->arena, &round, report, ret_grant)) {
        return call_fail_memory(call, "a round of the pool");
    }
    (void)TAKE(transaction);
    return pool_round_end(call, lease->store, owner, &round.pool, round.report.gateway);
}

static void
note_round(PoolLease *lease, const Call *call, Status status)
{
    bool is_lost = status != STATUS_OK;
    metric_add(&metric_pool_rounds, is_lost ? POOL_ROUND_FAILED : POOL_ROUND_SETTLED, 1);
    if (is_lost && !lease->is_lost) {
        log_failure(LOG_WARNING,
            "the pool's slots cannot be shared out, the gateway goes on with as many as it had on average",
            call);
    } else if (lease->is_lost && !is_lost) {
        log_event(LOG_INFO, "the pool's slots are shared out again");
    }
    lease->is_lost = is_lost;
}

static double
count_slots(void *context)
{
    const PoolLease *lease = context;
    return lease->options.count_slots(lease->options.context);
}

/* Returns how long to wait for the next turn, in milliseconds. */
static uint64_t
take_turn(PoolLease *lease, Call *call)
{
    AdmissionReport report;
    AdmissionGrant grant;
    double slots = count_slots(lease);
    admission_note_pool(lease->admission, slots);
    if (!admission_tell(lease->admission, call->arena, &report)) {
        return PAUSE_MS;
    }
    Status status = make_round(lease, call, &report, slots, &grant);
    note_round(lease, call, status);
    if (status != STATUS_OK) {
        admission_go_on(lease->admission);
        return report.tenant_count > 0 ? PAUSE_MS : IDLE_PAUSE_MS;
    }
    admission_adopt(lease->admission, &grant);
    if (grant.gateway_count != report.gateway_count) {
        return 0; /* the others wait to be told that this one knows */
    }
    return report.tenant_count > 0 ? PAUSE_MS : IDLE_PAUSE_MS;
}

static bool
is_stopping(const PoolLease *lease)
{
    return atomic_load_acquire(&lease->is_stopping);
}

/* Waits for a waking, at most `time_ms`; many wakings that come at once are one. */
static void
pause_lease(PoolLease *lease, uint64_t time_ms)
{
    struct timespec least = {.tv_nsec = (long)(PAUSE_MIN_MS * CLOCK_NS_PER_MS)};
    uint64_t end_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    struct timespec end = {
        .tv_sec = (time_t)(end_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(end_ns % CLOCK_NS_PER_S),
    };
    (void)nanosleep(&least, NULL);
    while (sem_clockwait(&lease->wake, CLOCK_MONOTONIC, &end) != 0 && errno == EINTR) {}
    while (sem_trywait(&lease->wake) == 0) {
        /* one round serves any number of wakings */
    }
}

static void *
run_lease(void *context)
{
    PoolLease *lease = context;
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    while (!is_stopping(lease)) {
        Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + ROUND_MS * CLOCK_NS_PER_MS};
        uint64_t pause_ms = arena == NULL ? PAUSE_MS : take_turn(lease, &call);
        if (arena != NULL) {
            arena_clear(arena);
        }
        pause_lease(lease, pause_ms);
    }
    return NULL;
}

static void
wake_lease(void *context)
{
    (void)sem_post(&((PoolLease *)context)->wake);
}

PoolLease *
pool_lease_new(const PoolLeaseOptions *options)
{
    assert(options->conninfo != NULL && options->owner != NULL && options->count_slots != NULL);

    PoolLease *lease = memory_new(1, sizeof *lease);
    if (lease == NULL) {
        return NULL;
    }
    AdmissionOptions admission = {
        .waiting_max = options->waiting_max,
        .wake = wake_lease,
        .count_slots = count_slots,
        .context = lease,
    };
    lease->options = *options;
    lease->admission = admission_new(&admission);
    if (lease->admission == NULL) {
        memory_free(lease);
        return NULL;
    }
    (void)sem_init(&lease->wake, 0, 0);
    return lease;
}

Status
pool_lease_start(Call *call, PoolLease *lease)
{
    lease->has_thread = pthread_create(&lease->thread, NULL, run_lease, lease) == 0;
    return lease->has_thread ? STATUS_OK : call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
}

Admission *
pool_lease_admission(PoolLease *lease)
{
    return lease->admission;
}

static void
leave_pool(PoolLease *lease)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + ROUND_MS * CLOCK_NS_PER_MS};
    bool has_left = lease->store == NULL || lease->is_lost ||
                    (arena != NULL && pool_leave(&call, lease->store, lease->options.owner) == STATUS_OK);
    if (!has_left) {
        log_failure(LOG_WARNING, "the pool could not be left, the gateway's place there will run out", &call);
    }
}

void
pool_lease_stop(PoolLease *lease)
{
    if (lease == NULL || !lease->has_thread) {
        return;
    }
    atomic_store_release(&lease->is_stopping, true);
    (void)sem_post(&lease->wake);
    (void)pthread_join(lease->thread, NULL);
    lease->has_thread = false;
    leave_pool(lease);
}

void
pool_lease_free(PoolLease *lease)
{
    if (lease == NULL) {
        return;
    }
    assert(!lease->has_thread);
    store_close(lease->store);
    admission_free(lease->admission);
    (void)sem_destroy(&lease->wake);
    memory_free(lease);
}
