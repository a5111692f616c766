#include "gateway/plan/plan_cache.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

typedef struct Entry {
    ListLink link; /* in cache->used */
    Plan *plan;
    size_t size;
    size_t key_size;
    bool has_like; /* once it is out of the cache: another plan there has the same partitions */
    char key[];
} Entry;

/* A compilation that has begun and not ended. */
typedef struct Flight {
    ListLink waiters;
} Flight;

struct PlanCache {
    Mutex mutex;
    Map *entries;  /* key → Entry */
    Map *flights;  /* key → Flight */
    ListLink used; /* entries, the least recently used first */
    size_t byte_size_max;
    PlanCacheStats stats;
};

PlanCache *
plan_cache_new(size_t byte_size_max)
{
    PlanCache *cache = memory_new(1, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    cache->entries = map_new();
    cache->flights = map_new();
    if (cache->entries == NULL || cache->flights == NULL) {
        map_free(cache->entries);
        map_free(cache->flights);
        memory_free(cache);
        return NULL;
    }
    mutex_init(&cache->mutex);
    list_init(&cache->used);
    cache->byte_size_max = byte_size_max;
    return cache;
}

/* Takes an entry out of the cache; it is the caller's. */
static void
entry_take_out(PlanCache *cache, Entry *entry)
{
    (void)map_remove(cache->entries, slice_of(entry->key, entry->key_size));
    list_remove(&entry->link);
    cache->stats.byte_size -= entry->size;
    cache->stats.plan_count--;
}

static void
entry_free(Entry *entry)
{
    plan_unref(entry->plan);
    memory_free(entry);
}

static void
entry_drop(PlanCache *cache, Entry *entry)
{
    assert(entry != NULL);

    entry_take_out(cache, entry);
    entry_free(entry);
}

static void
entry_add(PlanCache *cache, Slice key, Plan *plan)
{
    size_t size = plan->byte_size + sizeof(Entry) + 2 * key.size;
    Entry *old = map_get(cache->entries, key);
    if (old != NULL) {
        entry_drop(cache, old);
    }
    Entry *entry = size > cache->byte_size_max ? NULL : memory_new(1, sizeof *entry + key.size);
    if (entry == NULL || !map_put(cache->entries, key, entry)) {
        memory_free(entry);
        return;
    }
    memcpy(entry->key, key.data, key.size);
    entry->key_size = key.size;
    entry->size = size;
    entry->plan = plan_ref(plan);
    list_append(&cache->used, &entry->link);
    cache->stats.byte_size += size;
    cache->stats.plan_count++;
    while (cache->stats.byte_size > cache->byte_size_max) {
        entry_drop(cache, LIST_ITEM(list_first(&cache->used), Entry, link));
        cache->stats.eviction_count++;
    }
}

void
plan_cache_free(PlanCache *cache)
{
    if (cache == NULL) {
        return;
    }
    assert(map_count(cache->flights) == 0);
    LIST_EACH(&cache->used, link)
    {
        entry_drop(cache, LIST_ITEM(link, Entry, link));
    }
    map_free(cache->entries);
    map_free(cache->flights);
    mutex_done(&cache->mutex);
    memory_free(cache);
}

/* The note is lost without memory: a second compilation may start beside this one. */
static void
flight_begin(PlanCache *cache, Slice key)
{
    Flight *flight = memory_new(1, sizeof *flight);
    cache->stats.miss_count++;
    if (flight != NULL) {
        list_init(&flight->waiters);
        if (!map_put(cache->flights, key, flight)) {
            memory_free(flight);
        }
    }
}

Plan *
plan_cache_find(PlanCache *cache, Slice key)
{
    Plan *plan = NULL;
    mutex_lock(&cache->mutex);
    Entry *entry = map_get(cache->entries, key);
    if (entry != NULL) {
        list_remove(&entry->link);
        list_append(&cache->used, &entry->link);
        cache->stats.hit_count++;
        plan = plan_ref(entry->plan);
    }
    mutex_unlock(&cache->mutex);
    return plan;
}

PlanLookup
plan_cache_get(PlanCache *cache, Slice key, PlanWaiter *waiter, Plan **ret_plan)
{
    PlanLookup lookup = PLAN_COMPILE;
    mutex_lock(&cache->mutex);
    Entry *entry = map_get(cache->entries, key);
    Flight *flight = map_get(cache->flights, key);
    if (entry != NULL) {
        list_remove(&entry->link);
        list_append(&cache->used, &entry->link);
        cache->stats.hit_count++;
        *ret_plan = plan_ref(entry->plan);
        lookup = PLAN_FOUND;
    } else if (flight != NULL) {
        assert(!waiter->is_waiting && waiter->on_ready != NULL);
        list_append(&flight->waiters, &waiter->link);
        waiter->is_waiting = true;
        cache->stats.wait_count++;
        lookup = PLAN_WAIT;
    } else {
        flight_begin(cache, key);
    }
    mutex_unlock(&cache->mutex);
    return lookup;
}

static void
take_waiters(PlanCache *cache, Slice key, ListLink *ret_waiters)
{
    Flight *flight = map_remove(cache->flights, key);
    list_init(ret_waiters);
    if (flight == NULL) {
        return;
    }
    LIST_EACH(&flight->waiters, link)
    {
        list_remove(link);
        list_append(ret_waiters, link);
        LIST_ITEM(link, PlanWaiter, link)->is_waiting = false;
    }
    memory_free(flight);
}

/* Unlinks each waiter before the call, since its owner may free it in the call. */
static void
tell_waiters(ListLink *waiters, const PlanOutcome *outcome)
{
    LIST_EACH(waiters, link)
    {
        PlanWaiter *waiter = LIST_ITEM(link, PlanWaiter, link);
        list_remove(link);
        if (outcome->plan != NULL) {
            (void)plan_ref(outcome->plan);
        }
        waiter->on_ready(waiter, outcome);
    }
}

void
plan_cache_put(PlanCache *cache, Slice key, Plan *plan)
{
    ListLink waiters;
    assert(plan != NULL);
    mutex_lock(&cache->mutex);
    entry_add(cache, key, plan);
    take_waiters(cache, key, &waiters);
    mutex_unlock(&cache->mutex);
    PlanOutcome outcome = {.lookup = PLAN_FOUND, .plan = plan};
    tell_waiters(&waiters, &outcome);
}

/* Returns NULL and ends the compilation when nobody waits. */
static PlanWaiter *
next_in_line(PlanCache *cache, Slice key)
{
    Flight *flight = map_get(cache->flights, key);
    ListLink *link = flight == NULL ? NULL : list_first(&flight->waiters);
    if (link == NULL) {
        memory_free(map_remove(cache->flights, key));
        return NULL;
    }
    PlanWaiter *waiter = LIST_ITEM(link, PlanWaiter, link);
    list_remove(link);
    waiter->is_waiting = false;
    cache->stats.miss_count++;
    return waiter;
}

void
plan_cache_fail(PlanCache *cache, Slice key, const Error *error)
{
    bool is_given_up = error->code == STATUS_CANCELLED || error->code == STATUS_DEADLINE_EXCEEDED;
    PlanWaiter *heir = NULL;
    assert(error->code != STATUS_OK);
    ListLink waiters;
    list_init(&waiters);
    mutex_lock(&cache->mutex);
    if (is_given_up) {
        heir = next_in_line(cache, key);
    } else {
        take_waiters(cache, key, &waiters);
    }
    mutex_unlock(&cache->mutex);
    if (heir != NULL) {
        heir->on_ready(heir, &(PlanOutcome){.lookup = PLAN_COMPILE});
    }
    PlanOutcome outcome = {.lookup = PLAN_FAILED, .code = error->code, .message = error->message};
    tell_waiters(&waiters, &outcome);
}

bool
plan_cache_leave(PlanCache *cache, PlanWaiter *waiter)
{
    mutex_lock(&cache->mutex);
    bool was_waiting = waiter->is_waiting;
    if (was_waiting) {
        list_remove(&waiter->link);
        waiter->is_waiting = false;
    }
    mutex_unlock(&cache->mutex);
    return was_waiting;
}

static bool
have_same_partitions(const Plan *left, const Plan *right)
{
    bool is_same = left->partition_count == right->partition_count;
    for (size_t index = 0; is_same && index < left->partition_count; index++) {
        is_same = strcmp(left->partitions[index].digest, right->partitions[index].digest) == 0;
    }
    return is_same;
}

/* Returns whether a plan that is still cached, perhaps of another tenant, has the same partitions. */
static bool
has_like(PlanCache *cache, const Plan *plan)
{
    LIST_EACH(&cache->used, link)
    {
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): every item of the list is an Entry */
        if (have_same_partitions(LIST_ITEM(link, Entry, link)->plan, plan)) {
            return true;
        }
    }
    return false;
}

/* Moves the entries of a graph out of the cache. */
static void
take_out_graph(PlanCache *cache, Slice graph, ListLink *ret_entries)
{
    LIST_EACH(&cache->used, link)
    {
        Entry *entry = LIST_ITEM(link, Entry, link);
        if (signature_key_is_of(slice_of(entry->key, entry->key_size), graph)) {
            entry_take_out(cache, entry);
            list_append(ret_entries, &entry->link);
        }
    }
}

void
plan_cache_forget_graph(PlanCache *cache, Slice graph, PlanForgotten forgotten, void *context)
{
    ListLink entries;
    list_init(&entries);
    mutex_lock(&cache->mutex);
    take_out_graph(cache, graph, &entries);
    LIST_EACH(&entries, link)
    {
        Entry *entry = LIST_ITEM(link, Entry, link);
        entry->has_like = forgotten != NULL && has_like(cache, entry->plan);
    }
    mutex_unlock(&cache->mutex);
    while (!list_is_empty(&entries)) {
        Entry *entry = LIST_ITEM(list_first(&entries), Entry, link);
        list_remove(&entry->link);
        if (forgotten != NULL && !entry->has_like) {
            forgotten(context, entry->plan);
        }
        entry_free(entry);
    }
}

PlanCacheStats
plan_cache_stats(PlanCache *cache)
{
    mutex_lock(&cache->mutex);
    PlanCacheStats stats = cache->stats;
    mutex_unlock(&cache->mutex);
    return stats;
}
