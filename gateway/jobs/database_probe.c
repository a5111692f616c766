#include "gateway/jobs/database_probe.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gateway/store/migrate.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum {
    PERIOD_MS = 1000,
    ANSWER_MS = 5000, /* the longest wait for one answer */
    SILENT_MS = 3000, /* an answer that old, with the next one due, is none any more */
    ARENA_SIZE_MAX = 1 << 20,
};

struct DatabaseProbe {
    const char *conninfo;
    pthread_t thread;
    Mutex mutex; /* guards the members below */
    Condition wake;
    bool is_closing;
    uint64_t answered_ns; /* monotonic */
    Status status;
    char message[ERROR_MESSAGE_SIZE];
};

static Status
ask_database(Call *call, const DatabaseProbe *probe, Store **store)
{
    StoreOptions options = {.conninfo = probe->conninfo, .role = STORE_ROLE_APP, .wait_max_ms = ANSWER_MS};
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
    Status status = arena == NULL ? call_fail_memory(&call, "a question to PostgreSQL")
                                  : ask_database(&call, probe, store);
    mutex_lock(&probe->mutex);
    probe->answered_ns = clock_monotonic_ns();
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
    probe->answered_ns = clock_monotonic_ns();
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
    mutex_lock(&probe->mutex);
    uint64_t age_ms = (clock_monotonic_ns() - probe->answered_ns) / CLOCK_NS_PER_MS;
    Status status = probe->status;
    if (status != STATUS_OK) {
        status = call_fail(call, status, "%s", probe->message);
    } else if (age_ms > SILENT_MS) {
        status = call_fail(
            call, STATUS_UNAVAILABLE, "PostgreSQL has not answered for %llu ms", (unsigned long long)age_ms);
    }
    mutex_unlock(&probe->mutex);
    return status;
}
