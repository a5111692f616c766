#include "gateway/traces/trace_cache.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

typedef struct Kept {
    ListLink link; /* in cache->recent */
    StepTrace *trace;
} Kept;

struct TraceCache {
    Mutex lock;      /* guards what follows */
    Map *traces;     /* step id → Kept */
    ListLink recent; /* ordered by last use, the most recent last */
    size_t size;
    size_t size_max;
};

TraceCache *
trace_cache_new(size_t size_max)
{
    TraceCache *cache = memory_new(1, sizeof *cache);
    Map *traces = map_new();
    if (cache == NULL || traces == NULL) {
        memory_free(cache);
        map_free(traces);
        return NULL;
    }
    mutex_init(&cache->lock);
    cache->traces = traces;
    cache->size_max = size_max;
    list_init(&cache->recent);
    return cache;
}

/* Removes a trace. The lock is held. */
static void
drop_trace(TraceCache *cache, Kept *kept)
{
    (void)map_remove(cache->traces, uuid_slice(&kept->trace->id.value));
    list_remove(&kept->link);
    cache->size -= kept->trace->size;
    step_trace_unref(kept->trace);
    memory_free(kept);
}

static void
make_room(TraceCache *cache, size_t size)
{
    while (cache->size + size > cache->size_max && !list_is_empty(&cache->recent)) {
        drop_trace(cache, LIST_ITEM(list_first(&cache->recent), Kept, link));
    }
}

void
trace_cache_free(TraceCache *cache)
{
    if (cache == NULL) {
        return;
    }
    LIST_EACH(&cache->recent, link)
    {
        drop_trace(cache, LIST_ITEM(link, Kept, link));
    }
    map_free(cache->traces);
    mutex_done(&cache->lock);
    memory_free(cache);
}

static bool
insert_trace(TraceCache *cache, Kept *kept, StepTrace *trace)
{
    Kept *before = map_get(cache->traces, uuid_slice(&trace->id.value));
    if (before != NULL) {
        drop_trace(cache, before);
    }
    make_room(cache, trace->size);
    if (!map_put(cache->traces, uuid_slice(&trace->id.value), kept)) {
        return false;
    }
    kept->trace = step_trace_ref(trace);
    list_append(&cache->recent, &kept->link);
    cache->size += trace->size;
    return true;
}

void
trace_cache_put(TraceCache *cache, StepTrace *trace)
{
    assert(atomic_load_relaxed(&trace->reference_count) > 0 && trace->size > 0);

    Kept *kept = trace->size > cache->size_max ? NULL : memory_new(1, sizeof *kept);
    if (kept == NULL) {
        return;
    }
    mutex_lock(&cache->lock);
    bool is_inserted = insert_trace(cache, kept, trace);
    mutex_unlock(&cache->lock);
    if (!is_inserted) {
        memory_free(kept);
    }
}

void
trace_cache_keep(TraceCache *cache, const TraceOrigin *origin, const StepReport *report)
{
    AUTO_STEP_TRACE trace = step_trace_new(origin, report);
    if (trace != NULL) {
        trace_cache_put(cache, trace);
    }
}

static bool
is_owned(const StepTrace *trace, TenantId tenant, SessionId session)
{
    return uuid_equal(trace->tenant.value, tenant.value) && uuid_equal(trace->session.value, session.value);
}

StepTrace *
trace_cache_get(TraceCache *cache, TenantId tenant, SessionId session, StepId id)
{
    StepTrace *trace = NULL;
    mutex_lock(&cache->lock);
    Kept *kept = map_get(cache->traces, uuid_slice(&id.value));
    if (kept != NULL && is_owned(kept->trace, tenant, session)) {
        list_remove(&kept->link);
        list_append(&cache->recent, &kept->link);
        trace = step_trace_ref(kept->trace);
    }
    mutex_unlock(&cache->lock);
    return trace;
}

size_t
trace_cache_newest(TraceCache *cache, TenantId tenant, StepTrace **ret_traces, size_t count_max)
{
    size_t count = 0;
    mutex_lock(&cache->lock);
    for (ListLink *link = cache->recent.previous; link != &cache->recent && count < count_max;
         link = link->previous) {
        StepTrace *trace = LIST_ITEM(link, Kept, link)->trace;
        if (uuid_equal(trace->tenant.value, tenant.value)) {
            ret_traces[count++] = step_trace_ref(trace);
        }
    }
    mutex_unlock(&cache->lock);
    return count;
}
