#include "gateway/sessions/session_cache.h"

#include <assert.h>
#include <string.h>

#include "gateway/store/graphs.h"
#include "gateway/store/sessions.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { KEY_SIZE = 2 * sizeof(Uuid), SWEEP_COUNT_MIN = 1024 };

struct SessionCache {
    Mutex lock;
    Map *sessions;      /* tenant, session → SessionSnapshot */
    size_t sweep_count; /* sessions that are too old are swept out when there are so many */
};

static Slice
key_of(TenantId tenant, SessionId session, unsigned char key[KEY_SIZE])
{
    memcpy(key, tenant.value.bytes, sizeof(Uuid));
    memcpy(key + sizeof(Uuid), session.value.bytes, sizeof(Uuid));
    return slice_of(key, KEY_SIZE);
}

void
session_snapshot_unref(void *snapshot)
{
    SessionSnapshot *session = snapshot;
    if (session != NULL && reference_count_drop(&session->reference_count)) {
        memory_free(session);
    }
}

SessionCache *
session_cache_new(void)
{
    SessionCache *cache = memory_new(1, sizeof *cache);
    Map *sessions = map_new();
    if (cache == NULL || sessions == NULL) {
        memory_free(cache);
        map_free(sessions);
        return NULL;
    }
    mutex_init(&cache->lock);
    cache->sessions = sessions;
    cache->sweep_count = SWEEP_COUNT_MIN;
    return cache;
}

void
session_cache_free(SessionCache *cache)
{
    size_t cursor = 0;
    if (cache == NULL) {
        return;
    }
    for (const MapEntry *entry = map_next(cache->sessions, &cursor); entry != NULL;
         entry = map_next(cache->sessions, &cursor)) {
        session_snapshot_unref(entry->value);
    }
    map_free(cache->sessions);
    mutex_done(&cache->lock);
    memory_free(cache);
}

SessionSnapshot *
session_cache_find(SessionCache *cache, TenantId tenant, SessionId id, uint64_t now_ns)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    SessionSnapshot *session = map_get(cache->sessions, key_of(tenant, id, key));
    if (session != NULL && now_ns > session->fresh_until_ns) {
        session = NULL;
    }
    if (session != NULL) {
        reference_count_add(&session->reference_count);
    }
    mutex_unlock(&cache->lock);
    return session;
}

/* Sweeps out sessions that are too old for any use, each time their number has doubled: the cost of one
 * put is O(1) on average, and at most half of the cache is old. */
static void
sweep_sessions(SessionCache *cache, uint64_t now_ns)
{
    size_t cursor = 0;
    if (map_count(cache->sessions) < cache->sweep_count) {
        return;
    }
    for (const MapEntry *entry = map_next(cache->sessions, &cursor); entry != NULL;
         entry = map_next(cache->sessions, &cursor)) {
        SessionSnapshot *session = entry->value;
        if (now_ns - session->loaded_ns > SESSION_STALE_MS * CLOCK_NS_PER_MS) {
            (void)map_remove(cache->sessions, entry->key);
            session_snapshot_unref(session);
        }
    }
    size_t doubled = 2 * map_count(cache->sessions);
    cache->sweep_count = doubled > SWEEP_COUNT_MIN ? doubled : SWEEP_COUNT_MIN;
}

void
session_cache_put(SessionCache *cache, SessionSnapshot *session)
{
    assert(atomic_load_relaxed(&session->reference_count) > 0);

    unsigned char key[KEY_SIZE];
    Slice slice = key_of(session->tenant, session->id, key);
    mutex_lock(&cache->lock);
    sweep_sessions(cache, session->loaded_ns);
    SessionSnapshot *previous = map_remove(cache->sessions, slice);
    bool is_kept = map_put(cache->sessions, slice, session);
    mutex_unlock(&cache->lock);
    session_snapshot_unref(previous);
    if (!is_kept) {
        session_snapshot_unref(session);
    }
}

size_t
session_cache_count(SessionCache *cache)
{
    mutex_lock(&cache->lock);
    size_t count = map_count(cache->sessions);
    mutex_unlock(&cache->lock);
    return count;
}

void
session_cache_drop(SessionCache *cache, TenantId tenant, SessionId session)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    SessionSnapshot *dropped = map_remove(cache->sessions, key_of(tenant, session, key));
    mutex_unlock(&cache->lock);
    session_snapshot_unref(dropped);
}

/* Finds the session's newest graph; zero when it has none yet. */
static Status
find_newest(Call *call, Store *store, TenantId tenant, SessionId id, GraphId *ret_newest)
{
    StoredGraph newest = {0};
    Status status = graphs_find_newest(call, store, tenant, id, &newest);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        return status;
    }
    *ret_newest = newest.id;
    return STATUS_OK;
}

Status
session_cache_load(Call *call, SessionCache *cache, Store *store, TenantId tenant, SessionId id,
    SessionSnapshot **ret_session)
{
    Session stored;
    SessionOptions options;
    GraphId newest;
    SessionPlaces places;
    TRY(sessions_find(call, store, tenant, id, &stored));
    TRY(session_options_read(call, slice_from_string(stored.options), &options));
    TRY(find_newest(call, store, tenant, id, &newest));
    TRY(places_list(call, store, tenant, id, &places));
    SessionSnapshot *session = memory_new(1, sizeof *session + places.count * sizeof *session->places);
    if (session == NULL) {
        return call_fail_memory(call, "a session");
    }
    *session = (SessionSnapshot){
        .reference_count = 2, /* the cache's and the caller's */
        .tenant = tenant,
        .id = id,
        .options = options,
        .newest = newest,
        .loaded_ns = clock_monotonic_ns(),
        .place_count = places.count,
    };
    memcpy(session->places, places.items, places.count * sizeof *session->places);
    session->fresh_until_ns = session->loaded_ns + SESSION_FRESH_MS * CLOCK_NS_PER_MS;
    session_cache_put(cache, session);
    *ret_session = session;
    return STATUS_OK;
}

SessionSnapshot *
session_cache_find_stale(SessionCache *cache, TenantId tenant, SessionId id)
{
    unsigned char key[KEY_SIZE];
    uint64_t now_ns = clock_monotonic_ns();
    mutex_lock(&cache->lock);
    SessionSnapshot *session = map_get(cache->sessions, key_of(tenant, id, key));
    if (session != NULL && now_ns - session->loaded_ns > SESSION_STALE_MS * CLOCK_NS_PER_MS) {
        session = NULL;
    }
    if (session != NULL) {
        session->fresh_until_ns = now_ns + SESSION_RETRY_MS * CLOCK_NS_PER_MS;
        reference_count_add(&session->reference_count);
    }
    mutex_unlock(&cache->lock);
    return session;
}
