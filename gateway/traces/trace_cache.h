/* Traces of the steps that this gateway has run last, up to a number of bytes: the least recently used
 * goes first.
 *
 * Ownership: the cache has references of its own.
 * Threads:   any.
 * Errors:    none: without memory a trace is not kept. */
#pragma once

#include "gateway/traces/step_trace.h"

typedef struct TraceCache TraceCache;

MUST_USE TraceCache *trace_cache_new(size_t size_max);
void trace_cache_free(TraceCache *cache); /* NULL is allowed */

/* Keeps the trace of a step that has just ended. It is called before anybody hears of the end, so that
 * whoever sees the end finds the trace. */
void trace_cache_keep(TraceCache *cache, const TraceOrigin *origin, const StepReport *report);

/* Takes a reference; a trace larger than the whole cache is not kept. */
void trace_cache_put(TraceCache *cache, StepTrace *trace);

/* Finds the tenant's traces, the most recently used first: at most `count_max` new references. Returns how
 * many. */
size_t trace_cache_newest(TraceCache *cache, TenantId tenant, StepTrace **ret_traces, size_t count_max);

/* Returns a new reference; NULL when there is no such trace, or it is another tenant's or session's. */
StepTrace *trace_cache_get(TraceCache *cache, TenantId tenant, SessionId session, StepId id);
