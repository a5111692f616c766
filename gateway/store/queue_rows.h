/* For queue.c: rows of many steps of one tenant, written by one statement a table, in the caller's
 * transaction. */
#pragma once

#include "gateway/store/queue.h"

/* Steps with their feeds; `owner` NULL: queued. NOT_FOUND when the session of one is not there. */
MUST_USE Status queue_rows_insert(
    Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count, const char *owner);

/* The ends of those that are held; how many were. */
MUST_USE Status queue_rows_end(
    Call *call, Store *store, const StepEnding *endings, size_t count, uint64_t *ret_ended);

/* What comes with these ends: outputs, and what they cost in truth. */
MUST_USE Status queue_rows_end_others(Call *call, Store *store, const StepEnding *endings, size_t count);
