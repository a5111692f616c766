/* Aborting a rendezvous calls its waiters, who may call this table. Entries to be aborted are therefore
 * chained while the lock is held (StepEntry.reaped), and aborted after unlocking. */
#include "worker/serve/step_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/crypto/digest.h"

enum { UNCLAIMED_MS = 60000, TOMBSTONE_MS = 60000, SWEEP_INTERVAL_MS = 5000 };

struct StepTable {
    Mutex lock;
    Map *entries;  /* key → StepEntry */
    ListLink over; /* the tombstones among the entries, oldest first */
    size_t over_count;
    uint64_t sweep_due_ns;
};

/* Returns the transport of the entry's run. The rendezvous is made for the first message of a step, its
 * transport only by the run: entry_send() and entry_pull() look it up at each call. Nothing is sent before
 * the run. */
static RendezvousRemote
entry_remote(const StepEntry *entry)
{
    return transport_step_remote(atomic_load_acquire(&entry->transport));
}

static Status
entry_send(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead)
{
    RendezvousRemote remote = entry_remote(context);
    return remote.send(remote.context, call, key, tensor, is_dead);
}

static void
entry_pull(void *context, Slice key)
{
    const StepEntry *entry = context;
    if (atomic_load_acquire(&entry->transport) != NULL) {
        RendezvousRemote remote = entry_remote(entry);
        remote.pull(remote.context, key);
    }
}

static StepEntry *
entry_new(const StepClaim *claim, const char *key)
{
    StepEntry *entry = memory_new(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    RendezvousRemote remote = {.context = entry, .send = entry_send, .pull = entry_pull};
    entry->reference_count = 1;
    list_init(&entry->over);
    entry->attempt = claim->attempt;
    (void)snprintf(entry->key, sizeof entry->key, "%s", key);
    (void)snprintf(entry->push_token, sizeof entry->push_token, "%.*s", SLICE_PRINT(claim->push_token));
    entry->rendezvous = rendezvous_new((uint32_t)claim->slot, &remote);
    if (entry->rendezvous == NULL) {
        memory_free(entry);
        return NULL;
    }
    return entry;
}

static StepEntry *
entry_ref(StepEntry *entry)
{
    reference_count_add(&entry->reference_count);
    return entry;
}

bool
step_entry_attach(StepEntry *entry, TransportStep *transport)
{
    assert(transport != NULL);
    TransportStep *none = NULL;
    transport_step_attach(transport, entry->rendezvous);
    return atomic_compare_exchange_acq_rel(&entry->transport, &none, transport);
}

void
step_entry_unref(StepEntry *entry)
{
    if (entry != NULL && reference_count_drop(&entry->reference_count)) {
        if (entry->transport != NULL) {
            transport_step_detach(entry->transport);
            transport_step_unref(entry->transport);
        }
        rendezvous_unref(entry->rendezvous);
        memory_free(entry);
    }
}

StepTable *
step_table_new(void)
{
    StepTable *table = memory_new(1, sizeof *table);
    if (table == NULL) {
        return NULL;
    }
    mutex_init(&table->lock);
    list_init(&table->over);
    table->entries = map_new();
    if (table->entries == NULL) {
        memory_free(table);
        return NULL;
    }
    return table;
}

/* Chains an entry that has left the map, with the table's reference to it. */
static void
reap_entry(StepTable *table, StepEntry **reaped, StepEntry *entry)
{
    if (entry->is_over) {
        list_remove(&entry->over);
        table->over_count--;
    }
    entry->reaped = *reaped;
    *reaped = entry;
}

static void
abort_reaped(StepEntry *reaped, const char *reason)
{
    while (reaped != NULL) {
        StepEntry *next = reaped->reaped;
        rendezvous_abort(reaped->rendezvous, STATUS_ABORTED, reason);
        step_entry_unref(reaped);
        reaped = next;
    }
}

/* Removes the entries that have expired at `now_ns`; UINT64_MAX: all of them. */
static void
drop_expired(StepTable *table, uint64_t now_ns, StepEntry **reaped)
{
    size_t cursor = 0;
    for (const MapEntry *item = map_next(table->entries, &cursor); item != NULL;
         item = map_next(table->entries, &cursor)) {
        StepEntry *entry = item->value;
        if (entry->expires_ns <= now_ns) {
            (void)map_remove(table->entries, item->key);
            reap_entry(table, reaped, entry);
        }
    }
}

void
step_table_sweep(StepTable *table, uint64_t now_ns)
{
    StepEntry *reaped = NULL;
    mutex_lock(&table->lock);
    if (now_ns >= table->sweep_due_ns) {
        table->sweep_due_ns = now_ns + SWEEP_INTERVAL_MS * CLOCK_NS_PER_MS;
        drop_expired(table, now_ns, &reaped);
    }
    mutex_unlock(&table->lock);
    abort_reaped(reaped, "nobody has run the step, or its deadline is long past");
}

void
step_table_clear(StepTable *table)
{
    StepEntry *reaped = NULL;
    mutex_lock(&table->lock);
    drop_expired(table, UINT64_MAX, &reaped);
    mutex_unlock(&table->lock);
    abort_reaped(reaped, "every step of this worker was ended");
}

void
step_table_free(StepTable *table)
{
    if (table != NULL) {
        step_table_clear(table);
        map_free(table->entries);
        mutex_done(&table->lock);
        memory_free(table);
    }
}

static Slice
claim_key(const StepClaim *claim, char key[STEP_KEY_SIZE])
{
    int size = snprintf(
        key, STEP_KEY_SIZE, "%.*s/%lld", SLICE_PRINT(slice_part(claim->step, 0, 40)), (long long)claim->slot);
    return slice_of(key, (size_t)size);
}

/* Checks that messages of this attempt are still accepted, and its push token. */
static Status
entry_check(Call *call, const StepEntry *entry, const StepClaim *claim)
{
    if (claim->attempt < entry->attempt) {
        return call_fail(call, STATUS_ABORTED, "attempt %lld of this step is over, attempt %lld is known",
            (long long)claim->attempt, (long long)entry->attempt);
    }
    if (claim->attempt > entry->attempt) {
        return STATUS_OK;
    }
    if (entry->is_over) {
        return call_fail(call, STATUS_ABORTED, "this step is over");
    }
    if (!constant_time_equal(claim->push_token, slice_from_string(entry->push_token))) {
        return call_fail(call, STATUS_PERMISSION_DENIED, "wrong push token");
    }
    return STATUS_OK;
}

static Status
entry_insert(Call *call, StepTable *table, const StepClaim *claim, StepEntry *previous, StepEntry **ret_entry)
{
    char key[STEP_KEY_SIZE];
    Slice key_slice = claim_key(claim, key);
    if (previous == NULL && map_count(table->entries) >= STEP_COUNT_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "%d steps are known already", STEP_COUNT_MAX);
    }
    StepEntry *entry = entry_new(claim, key);
    if (entry == NULL || !map_put(table->entries, key_slice, entry)) {
        step_entry_unref(entry);
        return call_fail_memory(call, "a step");
    }
    *ret_entry = entry;
    return STATUS_OK;
}

static Status
table_enter(Call *call, StepTable *table, const StepClaim *claim, StepEntry **reaped, StepEntry **ret_entry)
{
    char key[STEP_KEY_SIZE];
    StepEntry *entry = map_get(table->entries, claim_key(claim, key));
    if (entry != NULL) {
        TRY(entry_check(call, entry, claim));
    }
    if (entry == NULL || claim->attempt > entry->attempt) {
        StepEntry *previous = entry;
        TRY(entry_insert(call, table, claim, previous, &entry));
        if (previous != NULL) {
            reap_entry(table, reaped, previous);
        }
    }
    assert(entry != NULL);
    uint64_t until_ns = claim->deadline_ns != 0 ? claim->deadline_ns + TOMBSTONE_MS * CLOCK_NS_PER_MS
                                                : claim->now_ns + UNCLAIMED_MS * CLOCK_NS_PER_MS;
    entry->expires_ns = until_ns > entry->expires_ns ? until_ns : entry->expires_ns;
    *ret_entry = entry_ref(entry);
    return STATUS_OK;
}

Status
step_table_enter(Call *call, StepTable *table, const StepClaim *claim, StepEntry **ret_entry)
{
    StepEntry *reaped = NULL;
    mutex_lock(&table->lock);
    Status status = table_enter(call, table, claim, &reaped, ret_entry);
    mutex_unlock(&table->lock);
    abort_reaped(reaped, "a later attempt of the step has begun");
    return status;
}

StepEntry *
step_table_find(StepTable *table, const StepClaim *claim)
{
    char key[STEP_KEY_SIZE];
    Call checking = {0};
    mutex_lock(&table->lock);
    StepEntry *entry = map_get(table->entries, claim_key(claim, key));
    bool is_this = entry != NULL && claim->attempt == entry->attempt &&
                   entry_check(&checking, entry, claim) == STATUS_OK;
    entry = is_this ? entry_ref(entry) : NULL;
    mutex_unlock(&table->lock);
    return entry;
}

/* Turns an entry into a tombstone. A worker ends thousands of steps a second, so that only the youngest
 * TOMBSTONE_COUNT_MAX tombstones are kept. */
static void
bury_entry(StepTable *table, StepEntry *entry, StepEntry **reaped)
{
    entry->is_over = true;
    list_append(&table->over, &entry->over);
    if (++table->over_count > TOMBSTONE_COUNT_MAX) {
        StepEntry *oldest = LIST_ITEM(table->over.next, StepEntry, over);
        (void)map_remove(table->entries, slice_from_string(oldest->key));
        reap_entry(table, reaped, oldest);
    }
}

void
step_table_cleanup(StepTable *table, Slice step, int64_t attempt)
{
    StepEntry *reaped = NULL;
    StepEntry *over[SLOT_COUNT_MAX];
    size_t over_count = 0;
    mutex_lock(&table->lock);
    for (int64_t slot = 0; slot < SLOT_COUNT_MAX; slot++) {
        char key[STEP_KEY_SIZE];
        StepClaim claim = {.step = step, .slot = slot};
        StepEntry *entry = map_get(table->entries, claim_key(&claim, key));
        if (entry != NULL && entry->attempt <= attempt && !entry->is_over) {
            over[over_count++] = entry_ref(entry);
            bury_entry(table, entry, &reaped);
        }
    }
    mutex_unlock(&table->lock);
    for (size_t index = 0; index < over_count; index++) {
        rendezvous_abort(over[index]->rendezvous, STATUS_ABORTED, "the step was cleaned up");
        step_entry_unref(over[index]);
    }
    abort_reaped(reaped, "the step is long over");
}

size_t
step_table_count(StepTable *table)
{
    mutex_lock(&table->lock);
    size_t count = map_count(table->entries);
    mutex_unlock(&table->lock);
    return count;
}

size_t
step_table_live_count(StepTable *table)
{
    mutex_lock(&table->lock);
    size_t count = map_count(table->entries) - table->over_count;
    mutex_unlock(&table->lock);
    return count;
}

uint64_t
step_table_parked_bytes(StepTable *table)
{
    uint64_t bytes = 0;
    size_t cursor = 0;
    mutex_lock(&table->lock);
    for (const MapEntry *item = map_next(table->entries, &cursor); item != NULL;
         item = map_next(table->entries, &cursor)) {
        const StepEntry *entry = item->value;
        bytes += entry->rendezvous == NULL ? 0 : rendezvous_parked_bytes(entry->rendezvous);
    }
    mutex_unlock(&table->lock);
    return bytes;
}
