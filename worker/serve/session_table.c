#include "worker/serve/session_table.h"

#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

typedef struct Lease {
    uint64_t expires_ns;
} Lease;

struct SessionTable {
    Mutex lock;
    Map *leases; /* session → Lease */
};

SessionTable *
session_table_new(void)
{
    SessionTable *table = memory_new(1, sizeof *table);
    if (table == NULL) {
        return NULL;
    }
    mutex_init(&table->lock);
    table->leases = map_new();
    if (table->leases == NULL) {
        memory_free(table);
        return NULL;
    }
    return table;
}

/* Drops the leases that have expired at `now_ns`; UINT64_MAX: all of them. */
static void
leases_drop(Map *leases, uint64_t now_ns)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(leases, &cursor); entry != NULL;
         entry = map_next(leases, &cursor)) {
        Lease *lease = entry->value;
        if (lease->expires_ns <= now_ns) {
            (void)map_remove(leases, entry->key);
            memory_free(lease);
        }
    }
}

void
session_table_free(SessionTable *table)
{
    if (table != NULL) {
        leases_drop(table->leases, UINT64_MAX);
        map_free(table->leases);
        mutex_done(&table->lock);
        memory_free(table);
    }
}

static Status
lease_put(Call *call, Map *leases, Slice session, uint64_t now_ns)
{
    Lease *lease = map_get(leases, session);
    if (lease == NULL && map_count(leases) >= SESSION_COUNT_MAX) {
        leases_drop(leases, now_ns);
    }
    if (lease == NULL && map_count(leases) >= SESSION_COUNT_MAX) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "%d sessions have leases already", SESSION_COUNT_MAX);
    }
    if (lease == NULL) {
        lease = memory_new(1, sizeof *lease);
        if (lease == NULL || !map_put(leases, session, lease)) {
            memory_free(lease);
            return call_fail_memory(call, "a session's lease");
        }
    }
    lease->expires_ns = now_ns + SESSION_LEASE_S * CLOCK_NS_PER_S;
    return STATUS_OK;
}

Status
session_table_put(Call *call, SessionTable *table, Slice session, uint64_t now_ns)
{
    mutex_lock(&table->lock);
    Status status = lease_put(call, table->leases, session, now_ns);
    mutex_unlock(&table->lock);
    return status;
}

void
session_table_remove(SessionTable *table, Slice session)
{
    mutex_lock(&table->lock);
    memory_free(map_remove(table->leases, session));
    mutex_unlock(&table->lock);
}

bool
session_table_renew(SessionTable *table, Slice session, uint64_t now_ns)
{
    mutex_lock(&table->lock);
    Lease *lease = map_get(table->leases, session);
    bool stands = lease != NULL && lease->expires_ns > now_ns;
    if (stands) {
        lease->expires_ns = now_ns + SESSION_LEASE_S * CLOCK_NS_PER_S;
    }
    mutex_unlock(&table->lock);
    return stands;
}
