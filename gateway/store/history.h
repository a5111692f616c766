/* History of ended steps: records of synchronous steps, written in batches behind their replies, and
 * queued steps moved out of the hot table.
 *
 * Threads: the thread of the Store, which has the role QUEUE. */
#pragma once

#include "gateway/store/steps.h"

enum { HISTORY_RECORDS_MAX = 1000 };

/* Inserts up to HISTORY_RECORDS_MAX ended steps of any tenants in one statement. Records that are stored
 * already stay, so that a batch whose reply was lost can be written again. created_us comes from the id;
 * state must be an end; a NULL stats is an empty object. INVALID_ARGUMENT when a step is older than the
 * oldest partition: none is written then. */
MUST_USE Status history_record(Call *call, Store *store, const StepRecord *steps, size_t count);

/* Moves up to `count_max` steps that ended over `age_s` seconds ago out of the hot table. Dead steps stay
 * a day, so that they can be driven again. */
MUST_USE Status history_archive(
    Call *call, Store *store, uint64_t age_s, size_t count_max, uint64_t *ret_moved);

/* Makes the partitions of the days to come (1 to 30) and drops those older than `days_kept` (2 to 3650).
 * Called at start and every day. */
MUST_USE Status history_roll(Call *call, Store *store, int days_ahead, int days_kept);
