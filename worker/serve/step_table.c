/* Aborting a rendezvous calls its waiters, who may call this table. Entries to be aborted are therefore
 * chained while the lock is held (StepEntry.next), and aborted after unlocking. */
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

enum { STEP_ID_SIZE = 48, UNCLAIMED_MS = 60000, TOMBSTONE_MS = 60000, SWEEP_INTERVAL_MS = 5000 };

typedef struct Step {
    char id[STEP_ID_SIZE];
    int64_t attempt;     /* the highest seen */
    bool is_over;        /* the step is a tombstone, which has no entries */
    StepEntry **entries; /* of this attempt, by slot, ascending */
    size_t entry_count;
    size_t entry_capacity;
    uint64_t expires_ns; /* time from which the step or its tombstone may be dropped */
    ListLink over;       /* link in the table's list of tombstones */
} Step;

struct StepTable {
    Mutex lock;
    Map *steps;    /* id → Step */
    ListLink over; /* the tombstones among the steps, oldest first */
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
entry_new(const StepClaim *claim)
{
    StepEntry *entry = memory_new(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    RendezvousRemote remote = {.context = entry, .send = entry_send, .pull = entry_pull};
    entry->reference_count = 1;
    entry->slot = claim->slot;
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

const char *
step_entry_lost_peer(const StepEntry *entry)
{
    const TransportStep *transport = atomic_load_acquire(&entry->transport);
    return transport == NULL ? NULL : transport_step_lost_peer(transport);
}

bool
step_entry_settle(StepEntry *entry, TransportWait *wait)
{
    TransportStep *transport = atomic_load_acquire(&entry->transport);
    return transport == NULL || transport_step_settle(transport, wait);
}

void
step_entry_forget(StepEntry *entry)
{
    TransportStep *transport = atomic_load_acquire(&entry->transport);
    if (transport != NULL) {
        transport_step_forget(transport);
    }
}

Failure
step_entry_failure(StepEntry *entry)
{
    TransportStep *transport = atomic_load_acquire(&entry->transport);
    return transport == NULL ? (Failure){0} : transport_step_failure(transport);
}

void
step_entry_end_peers(StepEntry *entry)
{
    TransportStep *transport = atomic_load_acquire(&entry->transport);
    if (transport != NULL) {
        transport_step_end_peers(transport);
    }
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
    table->steps = map_new();
    if (table->steps == NULL) {
        memory_free(table);
        return NULL;
    }
    return table;
}

/* Chains the step's entries, with the table's references to them. */
static void
reap_entries(Step *step, StepEntry **reaped)
{
    for (size_t index = 0; index < step->entry_count; index++) {
        step->entries[index]->next = *reaped;
        *reaped = step->entries[index];
    }
    memory_free(step->entries);
    step->entries = NULL;
    step->entry_count = step->entry_capacity = 0;
}

static void
abort_reaped(StepEntry *reaped, const char *reason)
{
    while (reaped != NULL) {
        StepEntry *next = reaped->next;
        rendezvous_abort(reaped->rendezvous, STATUS_ABORTED, reason);
        step_entry_unref(reaped);
        reaped = next;
    }
}

/* Returns the part of a step's id that is kept; ids of ours are shorter. */
static Slice
id_part(Slice id)
{
    return slice_part(id, 0, STEP_ID_SIZE - 1);
}

static Step *
find_step(const StepTable *table, Slice id)
{
    return map_get(table->steps, id_part(id));
}

/* Returns NULL without memory. */
static Step *
add_step(StepTable *table, Slice id, int64_t attempt)
{
    Step *step = memory_new(1, sizeof *step);
    if (step == NULL || !map_put(table->steps, id_part(id), step)) {
        memory_free(step);
        return NULL;
    }
    (void)snprintf(step->id, sizeof step->id, "%.*s", SLICE_PRINT(id));
    step->attempt = attempt;
    list_init(&step->over);
    return step;
}

static void
drop_step(StepTable *table, Step *step, StepEntry **reaped)
{
    (void)map_remove(table->steps, slice_from_string(step->id));
    if (step->is_over) {
        list_remove(&step->over);
        table->over_count--;
    }
    reap_entries(step, reaped);
    memory_free(step);
}

/* Turns a step into a tombstone. A worker ends thousands of steps a second, so that only the youngest
 * TOMBSTONE_COUNT_MAX tombstones are kept. */
static void
bury_step(StepTable *table, Step *step, StepEntry **reaped)
{
    assert(!step->is_over);

    step->is_over = true;
    reap_entries(step, reaped);
    list_append(&table->over, &step->over);
    if (++table->over_count > TOMBSTONE_COUNT_MAX) {
        drop_step(table, LIST_ITEM(table->over.next, Step, over), reaped);
    }
}

/* Drops the steps that have expired at `now_ns`; UINT64_MAX: all of them. */
static void
drop_expired(StepTable *table, uint64_t now_ns, StepEntry **reaped)
{
    size_t cursor = 0;
    for (const MapEntry *item = map_next(table->steps, &cursor); item != NULL;
         item = map_next(table->steps, &cursor)) {
        Step *step = item->value;
        if (step->expires_ns <= now_ns) {
            drop_step(table, step, reaped);
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
        map_free(table->steps);
        mutex_done(&table->lock);
        memory_free(table);
    }
}

/* Checks that messages of this attempt are still accepted. */
static Status
check_attempt(Call *call, const Step *step, const StepClaim *claim)
{
    if (claim->attempt < step->attempt) {
        return call_fail(call, STATUS_ABORTED, "attempt %lld of this step is over, attempt %lld is known",
            (long long)claim->attempt, (long long)step->attempt);
    }
    if (claim->attempt == step->attempt && step->is_over) {
        return call_fail(call, STATUS_ABORTED, "this step is over");
    }
    return STATUS_OK;
}

static bool
has_token(const StepEntry *entry, const StepClaim *claim)
{
    return constant_time_equal(claim->push_token, slice_from_string(entry->push_token));
}

/* Returns the position of the slot's entry, or where it belongs. */
static size_t
entry_position(const Step *step, int64_t slot)
{
    size_t low = 0;
    size_t high = step->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (step->entries[middle]->slot < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static StepEntry *
find_entry(const Step *step, int64_t slot)
{
    size_t position = entry_position(step, slot);
    bool is_there = position < step->entry_count && step->entries[position]->slot == slot;
    return is_there ? step->entries[position] : NULL;
}

/* Returns false without memory. */
static bool
insert_entry(Step *step, StepEntry *entry)
{
    if (step->entry_count == step->entry_capacity) {
        size_t capacity = step->entry_capacity == 0 ? 2 : 2 * step->entry_capacity;
        StepEntry **entries = memory_resize(step->entries, capacity * sizeof(StepEntry *));
        if (entries == NULL) {
            return false;
        }
        step->entries = entries;
        step->entry_capacity = capacity;
    }
    size_t position = entry_position(step, entry->slot);
    StepEntry **into = &step->entries[position];
    memmove(into + 1, into, (step->entry_count++ - position) * sizeof(StepEntry *));
    *into = entry;
    return true;
}

/* Moves on to a later attempt, with which every earlier one is over. */
static void
begin_attempt(StepTable *table, Step *step, int64_t attempt, StepEntry **reaped)
{
    if (step->is_over) {
        step->is_over = false;
        list_remove(&step->over);
        table->over_count--;
    }
    reap_entries(step, reaped);
    step->attempt = attempt;
}

/* Adds an entry for the claim's slot, to *step or, when that is NULL, to a new one. */
static Status
add_entry(Call *call, StepTable *table, const StepClaim *claim, Step **step, StepEntry **reaped,
    StepEntry **ret_entry)
{
    if (*step == NULL && map_count(table->steps) >= STEP_COUNT_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "%d steps are known already", STEP_COUNT_MAX);
    }
    StepEntry *entry = entry_new(claim);
    if (entry != NULL && *step == NULL) {
        *step = add_step(table, claim->step, claim->attempt);
    }
    if (entry == NULL || *step == NULL) {
        step_entry_unref(entry);
        return call_fail_memory(call, "a step");
    }
    if (claim->attempt > (*step)->attempt) {
        begin_attempt(table, *step, claim->attempt, reaped);
    }
    if (!insert_entry(*step, entry)) {
        step_entry_unref(entry);
        return call_fail_memory(call, "a step");
    }
    *ret_entry = entry;
    return STATUS_OK;
}

static Status
enter_locked(Call *call, StepTable *table, const StepClaim *claim, StepEntry **reaped, StepEntry **ret_entry)
{
    Step *step = find_step(table, claim->step);
    if (step != NULL) {
        TRY(check_attempt(call, step, claim));
    }
    bool is_known = step != NULL && claim->attempt == step->attempt;
    StepEntry *entry = is_known ? find_entry(step, claim->slot) : NULL;
    if (entry != NULL && !has_token(entry, claim)) {
        return call_fail(call, STATUS_PERMISSION_DENIED, "wrong push token");
    }
    if (entry == NULL) {
        TRY(add_entry(call, table, claim, &step, reaped, &entry));
    }
    uint64_t until_ns = claim->deadline_ns != 0 ? claim->deadline_ns + TOMBSTONE_MS * CLOCK_NS_PER_MS
                                                : claim->now_ns + UNCLAIMED_MS * CLOCK_NS_PER_MS;
    step->expires_ns = until_ns > step->expires_ns ? until_ns : step->expires_ns;
    *ret_entry = entry_ref(entry);
    return STATUS_OK;
}

Status
step_table_enter(Call *call, StepTable *table, const StepClaim *claim, StepEntry **ret_entry)
{
    StepEntry *reaped = NULL;
    mutex_lock(&table->lock);
    Status status = enter_locked(call, table, claim, &reaped, ret_entry);
    mutex_unlock(&table->lock);
    abort_reaped(reaped, "a later attempt of the step has begun");
    return status;
}

StepEntry *
step_table_find(StepTable *table, const StepClaim *claim)
{
    mutex_lock(&table->lock);
    const Step *step = find_step(table, claim->step);
    bool is_known = step != NULL && claim->attempt == step->attempt;
    StepEntry *entry = is_known ? find_entry(step, claim->slot) : NULL;
    entry = entry != NULL && has_token(entry, claim) ? entry_ref(entry) : NULL;
    mutex_unlock(&table->lock);
    return entry;
}

/* Leaves the tombstone of a step that is not known here: its run was reset before it came, but tensors
 * that its peers have pushed may still be on their way. Without memory they wait until they expire. */
static void
bury_unknown(StepTable *table, Slice id, int64_t attempt, StepEntry **reaped)
{
    Step *step = map_count(table->steps) < STEP_COUNT_MAX ? add_step(table, id, attempt) : NULL;
    if (step != NULL) {
        step->expires_ns = clock_monotonic_ns() + TOMBSTONE_MS * CLOCK_NS_PER_MS;
        bury_step(table, step, reaped);
    }
}

void
step_table_cleanup(StepTable *table, Slice id, int64_t attempt)
{
    StepEntry *reaped = NULL;
    mutex_lock(&table->lock);
    Step *step = find_step(table, id);
    if (step == NULL) {
        bury_unknown(table, id, attempt, &reaped);
    } else if (step->attempt <= attempt) {
        step->attempt = attempt;
        if (!step->is_over) {
            bury_step(table, step, &reaped);
        }
    }
    mutex_unlock(&table->lock);
    abort_reaped(reaped, "the step was cleaned up");
}

size_t
step_table_count(StepTable *table)
{
    mutex_lock(&table->lock);
    size_t count = map_count(table->steps);
    mutex_unlock(&table->lock);
    return count;
}

size_t
step_table_live_count(StepTable *table)
{
    mutex_lock(&table->lock);
    size_t count = map_count(table->steps) - table->over_count;
    mutex_unlock(&table->lock);
    return count;
}

uint64_t
step_table_parked_bytes(StepTable *table)
{
    uint64_t bytes = 0;
    size_t cursor = 0;
    mutex_lock(&table->lock);
    for (const MapEntry *item = map_next(table->steps, &cursor); item != NULL;
         item = map_next(table->steps, &cursor)) {
        const Step *step = item->value;
        for (size_t index = 0; index < step->entry_count; index++) {
            bytes += rendezvous_parked_bytes(step->entries[index]->rendezvous);
        }
    }
    mutex_unlock(&table->lock);
    return bytes;
}
