#include "gateway/jobs/database_probe.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gateway/store/migrate.h"
#include "gateway/store/pulse.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum {
    PERIOD_MS = 500,
    ANSWER_MS = 5000, /* the longest wait for one answer */
    ARENA_SIZE_MAX = 1 << 20,
};

struct DatabaseProbe {
    const char *conninfo;
    pthread_t thread;
    Mutex mutex; /* guards the members below */
    Condition wake;
    bool is_closing;
    Status status;
    char message[ERROR_MESSAGE_SIZE];
};

static Status
ask_database(Call *call, const DatabaseProbe *probe, Store **store)
{
    StoreOptions options = {
        .conninfo = probe->conninfo, .role = STORE_ROLE_APP, .wait_max_ms = ANSWER_MS, .is_probe = true};
    if (*store == NULL) {
        TRY(store_open(call, &options, store));
    }
    return migrate_check(call, *store);
}

static void
probe_once(DatabaseProbe *probe, Store **store)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + ANSWER_MS * CLOCK_NS_PER_MS};
    pulse_ask(clock_monotonic_ns());
    Status status = arena == NULL ? call_fail_memory(&call, "a question to PostgreSQL")
                                  : ask_database(&call, probe, store);
    if (status != STATUS_DEADLINE_EXCEEDED) {
        pulse_answer();
    }
    if (status != STATUS_OK) {
        store_close(TAKE(*store)); /* a new one connects without a pause */
    }
    mutex_lock(&probe->mutex);
    probe->status = status;
    (void)snprintf(
        probe->message, sizeof probe->message, "%s", status == STATUS_OK ? "" : call.error.message);
    mutex_unlock(&probe->mutex);
}

/* Returns false when the probe closes. */
static bool
await_period(DatabaseProbe *probe)
{
    uint64_t end_ns = clock_monotonic_ns() + PERIOD_MS * CLOCK_NS_PER_MS;
    mutex_lock(&probe->mutex);
    while (!probe->is_closing && condition_wait_until(&probe->wake, &probe->mutex, end_ns)) {}
    bool goes_on = !probe->is_closing;
    mutex_unlock(&probe->mutex);
    return goes_on;
}

static void *
probe_run(void *argument)
{
    DatabaseProbe *probe = argument;
    Store *store = NULL;
    do {
        probe_once(probe, &store);
    } while (await_period(probe));
    store_close(store);
    return NULL;
}

Status
database_probe_new(Call *call, const char *conninfo, DatabaseProbe **ret_probe)
{
    DatabaseProbe *probe = memory_new(1, sizeof *probe);
    if (probe == NULL) {
        return call_fail_memory(call, "the probe of PostgreSQL");
    }
    probe->conninfo = conninfo;
    mutex_init(&probe->mutex);
    condition_init(&probe->wake);
    int error = pthread_create(&probe->thread, NULL, probe_run, probe);
    if (error != 0) {
        condition_done(&probe->wake);
        mutex_done(&probe->mutex);
        memory_free(probe);
        return call_fail(
            call, STATUS_UNAVAILABLE, "cannot start the probe of PostgreSQL: %s", strerror(error));
    }
    *ret_probe = probe;
    return STATUS_OK;
}

void
database_probe_free(DatabaseProbe *probe)
{
    if (probe == NULL) {
        return;
    }
    mutex_lock(&probe->mutex);
    probe->is_closing = true;
    condition_broadcast(&probe->wake);
    mutex_unlock(&probe->mutex);
    pthread_join(probe->thread, NULL);
    condition_done(&probe->wake);
    mutex_done(&probe->mutex);
    memory_free(probe);
}

Status
database_probe_read(DatabaseProbe *probe, Call *call)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (pulse_is_silent(now_ns)) {
        return call_fail(call, STATUS_UNAVAILABLE, "PostgreSQL does not answer");
    }
    mutex_lock(&probe->mutex);
    Status status =
        probe->status == STATUS_OK ? STATUS_OK : call_fail(call, probe->status, "%s", probe->message);
    mutex_unlock(&probe->mutex);
    return status == STATUS_OK && pulse_is_full(now_ns)
               ? call_fail(call, STATUS_UNAVAILABLE, "PostgreSQL's disk is full")
               : status;
}
