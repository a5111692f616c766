#include "gateway/partials/partial_table.h"

#include <string.h>

#include "gateway/partials/partial_run.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

/* Of the bytes of an id that are random otherwise; the last one names the loop (running_steps.h). */
enum { MARK_AT = 10 };

struct PartialTable {
    Mutex lock;
    Map *runs; /* PartialKey → PartialRun */
    bool is_closed;
};

PartialTable *
partial_table_new(void)
{
    PartialTable *const table = memory_new(1, sizeof *table);
    Map *const runs = map_new();
    if (table == NULL || runs == NULL) {
        memory_free(table);
        map_free(runs);
        return NULL;
    }
    mutex_init(&table->lock);
    table->runs = runs;
    return table;
}

void
partial_table_free(PartialTable *table)
{
    if (table != NULL) {
        map_free(table->runs);
        mutex_done(&table->lock);
        memory_free(table);
    }
}

StepId
partial_run_id_new(const GatewayLoop *loop)
{
    StepId id = step_id_new(loop->index);
    memcpy(&id.value.bytes[MARK_AT], loop->gateway->mark, sizeof loop->gateway->mark);
    return id;
}

static Slice
key_slice(const PartialKey *key)
{
    return slice_of(key, sizeof *key);
}

/* --- Adding and removing -------------------------------------------------------------------------------- */

/* All of them are looked at: they are few, and made rarely. */
static size_t
count_of_tenant(const Map *runs, TenantId tenant)
{
    size_t cursor = 0;
    size_t count = 0;
    for (const MapEntry *entry = map_next(runs, &cursor); entry != NULL; entry = map_next(runs, &cursor)) {
        const PartialRun *const run = entry->value;
        count += uuid_equal(run->step.tenant.value, tenant.value);
    }
    return count;
}

static Status
add(Call *call, PartialTable *table, PartialRun *run)
{
    const PartialKey key = partial_run_key(run);
    const uint64_t count_max = run->step.loop->gateway->limits.partial_runs;
    if (table->is_closed) {
        return call_fail(call, STATUS_UNAVAILABLE, "the gateway is shutting down");
    }
    if (count_of_tenant(table->runs, key.tenant) >= count_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the limit partial_runs is %llu runs: complete, delete or let expire some that are open",
            (unsigned long long)count_max);
    }
    return map_put(table->runs, key_slice(&key), run) ? STATUS_OK : call_fail_memory(call, "a partial run");
}

Status
partial_table_add(Call *call, PartialTable *table, PartialRun *run)
{
    mutex_lock(&table->lock);
    const Status status = add(call, table, run);
    mutex_unlock(&table->lock);
    return status;
}

void
partial_table_remove(PartialTable *table, const PartialRun *run)
{
    const PartialKey key = partial_run_key(run);
    mutex_lock(&table->lock);
    if (map_get(table->runs, key_slice(&key)) == run) {
        (void)map_remove(table->runs, key_slice(&key));
    }
    mutex_unlock(&table->lock);
}

/* --- Finding -------------------------------------------------------------------------------------------- */

static bool
look(PartialTable *table, const PartialKey *key, PartialFacts *ret_facts)
{
    mutex_lock(&table->lock);
    const PartialRun *const run = table->is_closed ? NULL : map_get(table->runs, key_slice(key));
    if (run != NULL) {
        *ret_facts = (PartialFacts){
            .graph = graph_snapshot_ref(run->step.graph),
            .plan = plan_ref(run->step.plan),
            .loop = run->step.loop,
            .expires_ns = run->expires_ns,
        };
    }
    mutex_unlock(&table->lock);
    return run != NULL;
}

Status
partial_table_look(Call *call, const Gateway *gateway, const PartialKey *key, PartialFacts *ret_facts)
{
    char text[ID_TEXT_SIZE];
    id_to_text("prt", key->id.value, text);
    if (memcmp(&key->id.value.bytes[MARK_AT], gateway->mark, sizeof gateway->mark) != 0) {
        return call_fail(call, STATUS_ABORTED,
            "partial run '%s' was made by another gateway, or before this one was restarted: its requests "
            "must reach the gateway that made it",
            text);
    }
    return look(gateway->partials, key, ret_facts)
               ? STATUS_OK
               : call_fail(call, STATUS_NOT_FOUND,
                     "partial run '%s' does not exist: it may be complete, have failed, or have expired",
                     text);
}

PartialRun *
partial_table_find(PartialTable *table, const PartialKey *key)
{
    mutex_lock(&table->lock);
    PartialRun *const run = map_get(table->runs, key_slice(key));
    mutex_unlock(&table->lock);
    return run;
}

void
partial_table_close(PartialTable *table)
{
    if (table != NULL) {
        mutex_lock(&table->lock);
        table->is_closed = true;
        mutex_unlock(&table->lock);
    }
}

bool
partial_table_is_closed(PartialTable *table)
{
    mutex_lock(&table->lock);
    const bool is_closed = table->is_closed;
    mutex_unlock(&table->lock);
    return is_closed;
}

size_t
partial_table_count(PartialTable *table)
{
    mutex_lock(&table->lock);
    const size_t count = map_count(table->runs);
    mutex_unlock(&table->lock);
    return count;
}
