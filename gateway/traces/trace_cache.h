/* The traces of the steps that this gateway has run last, up to a number of bytes: the one not asked for
 * longest goes first.
 *
 * Ownership: the cache has references of its own.
 * Threads:   any.
 * Errors:    none: what there is no memory for is not kept. */
#pragma once

#include "gateway/traces/step_trace.h"

typedef struct TraceCache TraceCache;

MUST_USE TraceCache *trace_cache_new(size_t size_max);
void trace_cache_free(TraceCache *cache); /* NULL is allowed */

/* Keeps the trace of a step that has just ended: before its end is known elsewhere, so that whoever sees the
 * end finds the trace. */
void trace_cache_keep(TraceCache *cache, const TraceOrigin *origin, const StepReport *report);

/* Takes a reference; a trace larger than the whole cache is not kept. */
void trace_cache_put(TraceCache *cache, StepTrace *trace);

/* The tenant's traces put or asked for last, that one first: new references, at most `count_max`. Returns how
 * many. */
size_t trace_cache_newest(TraceCache *cache, TenantId tenant, StepTrace **ret_traces, size_t count_max);

/* A new reference, or NULL: there is none, or it is another tenant's or session's. */
StepTrace *trace_cache_get(TraceCache *cache, TenantId tenant, SessionId session, StepId id);
