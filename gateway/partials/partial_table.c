#include "gateway/partials/partial_table.h"

#include <assert.h>
#include <string.h>

#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum {
    MARK_AT = 10
}; /* the first of four bytes of an id that name the gateway; the last byte names the
    * loop */

struct PartialTable {
    const Limits *limits;
    const Replica *replica;
    PartialLoop *loops[STEP_LOOPS_MAX];
    size_t loop_count;
    Mutex lock; /* guards what follows */
    Map *runs;  /* PartialKey → PartialFacts */
    bool is_closed;
};

PartialTable *
partial_table_new(const Limits *limits, const Replica *replica)
{
    PartialTable *table = memory_new(1, sizeof *table);
    Map *runs = map_new();
    if (table == NULL || runs == NULL) {
        memory_free(table);
        map_free(runs);
        return NULL;
    }
    mutex_init(&table->lock);
    table->runs = runs;
    table->limits = limits;
    table->replica = replica;
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

void
partial_loop_init(PartialLoop *loop, PartialTable *table, StepLoop *steps)
{
    assert(table->loop_count < STEP_LOOPS_MAX);

    *loop = (PartialLoop){.table = table, .steps = steps};
    list_init(&loop->runs);
    table->loops[table->loop_count++] = loop;
}

void
partial_loop_done(PartialLoop *loop)
{
    if (loop->table != NULL) {
        assert(list_is_empty(&loop->runs) && loop->table->loops[loop->table->loop_count - 1] == loop);
        loop->table->loop_count--;
    }
}

PartialLoop *const *
partial_table_loops(const PartialTable *table, size_t *ret_count)
{
    *ret_count = table->loop_count;
    return table->loops;
}

StepId
partial_run_id_new(const PartialLoop *loop)
{
    const Replica *replica = loop->table->replica;
    StepId id = step_id_new(loop->steps);
    memcpy(&id.value.bytes[MARK_AT], replica->mark, sizeof replica->mark);
    return id;
}

static Slice
key_slice(const PartialKey *key)
{
    return slice_of(key, sizeof *key);
}

/* Counts the tenant's runs by looking at all, as there are few and they are made rarely. */
static size_t
count_of_tenant(const Map *runs, TenantId tenant)
{
    size_t cursor = 0;
    size_t count = 0;
    for (const MapEntry *entry = map_next(runs, &cursor); entry != NULL; entry = map_next(runs, &cursor)) {
        const PartialFacts *facts = entry->value;
        count += uuid_equal(facts->key.tenant.value, tenant.value);
    }
    return count;
}

static Status
add_facts(Call *call, PartialTable *table, PartialFacts *facts)
{
    uint64_t count_max = table->limits->partial_runs;
    if (table->is_closed) {
        return call_fail(call, STATUS_UNAVAILABLE, "the gateway is shutting down");
    }
    if (count_of_tenant(table->runs, facts->key.tenant) >= count_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the limit partial_runs is %llu runs: complete, delete or let expire some that are open",
            (unsigned long long)count_max);
    }
    return map_put(table->runs, key_slice(&facts->key), facts) ? STATUS_OK
                                                               : call_fail_memory(call, "a partial run");
}

Status
partial_table_add(Call *call, PartialTable *table, PartialFacts *facts)
{
    mutex_lock(&table->lock);
    Status status = add_facts(call, table, facts);
    mutex_unlock(&table->lock);
    return status;
}

void
partial_table_remove(PartialTable *table, const PartialFacts *facts)
{
    mutex_lock(&table->lock);
    if (map_get(table->runs, key_slice(&facts->key)) == facts) {
        (void)map_remove(table->runs, key_slice(&facts->key));
    }
    mutex_unlock(&table->lock);
}

static bool
copy_facts(PartialTable *table, const PartialKey *key, PartialFacts *ret_facts)
{
    mutex_lock(&table->lock);
    const PartialFacts *facts = table->is_closed ? NULL : map_get(table->runs, key_slice(key));
    if (facts != NULL) {
        *ret_facts = *facts;
        (void)graph_snapshot_ref(facts->graph);
        (void)plan_ref(facts->plan);
    }
    mutex_unlock(&table->lock);
    return facts != NULL;
}

Status
partial_table_look(Call *call, PartialTable *table, const PartialKey *key, PartialFacts *ret_facts)
{
    const Replica *replica = table->replica;
    char text[ID_TEXT_SIZE];
    id_to_text("prt", key->id.value, text);
    if (memcmp(&key->id.value.bytes[MARK_AT], replica->mark, sizeof replica->mark) != 0) {
        return call_fail(call, STATUS_ABORTED,
            "partial run '%s' was made by another gateway, or before this one was restarted: its requests "
            "must reach the gateway that made it",
            text);
    }
    return copy_facts(table, key, ret_facts)
               ? STATUS_OK
               : call_fail(call, STATUS_NOT_FOUND,
                     "partial run '%s' does not exist: it may be complete, have failed, or have expired",
                     text);
}

PartialFacts *
partial_table_find(PartialTable *table, const PartialKey *key)
{
    mutex_lock(&table->lock);
    PartialFacts *facts = map_get(table->runs, key_slice(key));
    mutex_unlock(&table->lock);
    return facts;
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
    bool is_closed = table->is_closed;
    mutex_unlock(&table->lock);
    return is_closed;
}

size_t
partial_table_count(PartialTable *table)
{
    mutex_lock(&table->lock);
    size_t count = map_count(table->runs);
    mutex_unlock(&table->lock);
    return count;
}
