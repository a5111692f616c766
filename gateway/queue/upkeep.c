/* A turn, every PAUSE_MS: partitions once a day → take the lease on the rest → move ended steps → clean
 * the next TENANT_BATCH tenants, without a pause while there are more; after the last tenant none for
 * COLLECT_PAUSE_S.
 *
 * Failures: a turn that fails is made again; a tenant that fails is left for the next round. */
#include "gateway/queue/upkeep.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "gateway/queue/metrics.h"
#include "gateway/store/blobs.h"
#include "gateway/store/events.h"
#include "gateway/store/history.h"
#include "gateway/store/idempotency.h"
#include "gateway/store/leases.h"
#include "gateway/store/tenants.h"
#include "gateway/store/uploads.h"
#include "gateway/store/workers.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    LEASE_MS = 30000,
    PAUSE_MS = 5000,
    TURN_MS = 20000, /* the time in which one turn's statements must be answered */
    ROLL_PAUSE_S = 86400,
    DAYS_AHEAD = 9,
    ARCHIVE_AGE_S = 60,
    ARCHIVE_MAX = 5000,
    COLLECT_PAUSE_S = 60,
    FORGET_PAUSE_S = 3600,
    TENANT_BATCH = 100,
    ROW_BATCH = 1000,
    EVENT_BATCH = 10000,
    BLOB_BATCH = 50,
    SECONDS_A_DAY = 86400,
    ARENA_SIZE_MAX = 4 << 20,
};

struct Upkeep {
    UpkeepOptions options;
    Store *queue;
    uint64_t roll_ns;    /* when partitions are due */
    uint64_t collect_ns; /* when the next round over the tenants is due */
    uint64_t forget_ns;  /* when workers are to be forgotten */
    TenantId collected;  /* the last tenant that this round has cleaned */
    pthread_t thread;
    sem_t wake;
    bool is_stopping; /* atomic */
};

static Status
clean_tenant(Call *call, const UpkeepOptions *options, Store *app, TenantId tenant)
{
    uint64_t output_age_s = (uint64_t)options->history_days * SECONDS_A_DAY;
    uint64_t keys = 0;
    uint64_t outputs = 0;
    uint64_t blobs = 0;
    uint64_t uploads = 0;
    uint64_t locations = 0;
    uint64_t blob_age_s = options->blob_age_ms / 1000;
    TRY(idempotency_expire(call, app, tenant, ROW_BATCH, &keys));
    TRY(steps_outputs_expire(call, app, tenant, output_age_s, ROW_BATCH, &outputs));
    TRY(blobs_collect(call, app, tenant, blob_age_s, BLOB_BATCH, &blobs));
    TRY(uploads_expire(call, app, tenant, blob_age_s, BLOB_BATCH, &uploads));
    TRY(removals_do(call, app, tenant, ROW_BATCH, &locations));
    metric_add(&metric_upkeep_removed, UPKEEP_IDEMPOTENCY_KEYS, (int64_t)keys);
    metric_add(&metric_upkeep_removed, UPKEEP_OUTPUTS, (int64_t)outputs);
    metric_add(&metric_upkeep_removed, UPKEEP_BLOBS, (int64_t)blobs);
    metric_add(&metric_upkeep_removed, UPKEEP_UPLOADS, (int64_t)uploads);
    metric_add(&metric_upkeep_removed, UPKEEP_LOCATIONS, (int64_t)locations);
    return STATUS_OK;
}

/* Cleans tenants over a connection of its own, which lives for one turn: most turns have nothing to clean. */
static Status
clean_tenants(Call *call, const UpkeepOptions *options, const TenantId *tenants, size_t count)
{
    AUTO_STORE app = NULL;
    StoreOptions store = {.conninfo = options->conninfo, .role = STORE_ROLE_APP, .blobs = options->blobs};
    TRY(store_open(call, &store, &app));
    for (size_t index = 0; index < count; index++) {
        if (clean_tenant(call, options, app, tenants[index]) != STATUS_OK) {
            log_failure(LOG_WARNING, "what is over could not be removed for a tenant", call);
        }
    }
    return STATUS_OK;
}

static Status
collect_garbage(Call *call, Upkeep *upkeep, uint64_t now_ns, bool *ret_is_more)
{
    TenantId *tenants = NULL;
    size_t count = 0;
    if (now_ns < upkeep->collect_ns) {
        return STATUS_OK;
    }
    TRY(tenants_next(call, upkeep->queue, upkeep->collected, TENANT_BATCH, &tenants, &count));
    TRY(clean_tenants(call, &upkeep->options, tenants, count));
    *ret_is_more = count == TENANT_BATCH;
    upkeep->collected = *ret_is_more ? tenants[count - 1] : (TenantId){0};
    if (!*ret_is_more) {
        upkeep->collect_ns = now_ns + COLLECT_PAUSE_S * CLOCK_NS_PER_S;
    }
    return STATUS_OK;
}

/* Makes and drops partitions, with or without the lease: this gateway's own records need a partition. */
static Status
roll_partitions(Call *call, Upkeep *upkeep, uint64_t now_ns)
{
    if (now_ns < upkeep->roll_ns) {
        return STATUS_OK;
    }
    TRY(history_roll(call, upkeep->queue, DAYS_AHEAD, upkeep->options.history_days));
    upkeep->roll_ns = now_ns + ROLL_PAUSE_S * CLOCK_NS_PER_S;
    return STATUS_OK;
}

static Status
remove_events(Call *call, Upkeep *upkeep, bool *ret_is_more)
{
    uint64_t count = 0;
    TRY(events_remove(call, upkeep->queue, upkeep->options.events_ms, EVENT_BATCH, &count));
    metric_add(&metric_upkeep_removed, UPKEEP_EVENTS, (int64_t)count);
    *ret_is_more = count == EVENT_BATCH;
    return STATUS_OK;
}

static Status
forget_workers(Call *call, Upkeep *upkeep, uint64_t now_ns)
{
    uint64_t count = 0;
    if (now_ns < upkeep->forget_ns) {
        return STATUS_OK;
    }
    TRY(workers_forget(call, upkeep->queue, (uint64_t)upkeep->options.history_days * SECONDS_A_DAY, &count));
    metric_add(&metric_upkeep_removed, UPKEEP_WORKERS, (int64_t)count);
    upkeep->forget_ns = now_ns + FORGET_PAUSE_S * CLOCK_NS_PER_S;
    return STATUS_OK;
}

static Status
take_turn(Call *call, Upkeep *upkeep, uint64_t now_ns, bool *ret_is_more)
{
    Lease lease;
    uint64_t moved = 0;
    bool has_more_events = false;
    if (upkeep->queue == NULL) {
        StoreOptions store = {.conninfo = upkeep->options.conninfo, .role = STORE_ROLE_QUEUE};
        TRY(store_open(call, &store, &upkeep->queue));
    }
    TRY(roll_partitions(call, upkeep, now_ns));
    TRY(leases_acquire(call, upkeep->queue, "upkeep", upkeep->options.owner, LEASE_MS, &lease));
    if (!lease.is_held) {
        return STATUS_OK;
    }
    TRY(history_archive(call, upkeep->queue, ARCHIVE_AGE_S, ARCHIVE_MAX, &moved));
    TRY(remove_events(call, upkeep, &has_more_events));
    TRY(forget_workers(call, upkeep, now_ns));
    TRY(collect_garbage(call, upkeep, now_ns, ret_is_more));
    *ret_is_more = *ret_is_more || has_more_events;
    return STATUS_OK;
}

static bool
is_stopping(const Upkeep *upkeep)
{
    return atomic_load_acquire(&upkeep->is_stopping);
}

static void
pause_upkeep(Upkeep *upkeep, uint64_t now_ns)
{
    uint64_t end_ns = now_ns + PAUSE_MS * CLOCK_NS_PER_MS;
    struct timespec end = {
        .tv_sec = (time_t)(end_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(end_ns % CLOCK_NS_PER_S),
    };
    while (sem_clockwait(&upkeep->wake, CLOCK_MONOTONIC, &end) != 0 && errno == EINTR) {}
}

static void *
run_upkeep(void *context)
{
    Upkeep *upkeep = context;
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    while (!is_stopping(upkeep)) {
        bool is_more = false;
        uint64_t now_ns = clock_monotonic_ns();
        Call call = {.arena = arena, .deadline_ns = now_ns + TURN_MS * CLOCK_NS_PER_MS};
        if (arena == NULL || take_turn(&call, upkeep, now_ns, &is_more) != STATUS_OK) {
            log_failure(LOG_WARNING, "upkeep could not be done", &call);
            is_more = false;
        }
        arena_clear(arena);
        if (!is_more) {
            pause_upkeep(upkeep, now_ns);
        }
    }
    return NULL;
}

Status
upkeep_new(Call *call, const UpkeepOptions *options, Upkeep **ret_upkeep)
{
    assert(options->conninfo != NULL && options->owner != NULL);

    Upkeep *upkeep = memory_new(1, sizeof *upkeep);
    if (upkeep == NULL) {
        return call_fail_memory(call, "the upkeep");
    }
    upkeep->options = *options;
    upkeep->forget_ns = clock_monotonic_ns() + options->workers_ms * CLOCK_NS_PER_MS;
    (void)sem_init(&upkeep->wake, 0, 0);
    if (pthread_create(&upkeep->thread, NULL, run_upkeep, upkeep) != 0) {
        (void)sem_destroy(&upkeep->wake);
        memory_free(upkeep);
        return call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
    }
    *ret_upkeep = upkeep;
    return STATUS_OK;
}

void
upkeep_free(Upkeep *upkeep)
{
    if (upkeep == NULL) {
        return;
    }
    atomic_store_release(&upkeep->is_stopping, true);
    (void)sem_post(&upkeep->wake);
    (void)pthread_join(upkeep->thread, NULL);
    store_close(upkeep->queue);
    (void)sem_destroy(&upkeep->wake);
    memory_free(upkeep);
}
