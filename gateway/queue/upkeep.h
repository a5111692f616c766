/* What one gateway does for all of them from time to time, on a thread of its own: partitions of history are
 * made and dropped, ended steps leave the hot table, and what is over is removed tenant by tenant: answers to
 * idempotency keys, outputs that are older than the history, blobs that nothing refers to.
 *
 * Ownership: upkeep_free() ends the thread.
 * Threads:   any.
 * Errors:    upkeep_new(): UNAVAILABLE for the thread. PostgreSQL gone is no error: all is tried again. */
#pragma once

#include "gateway/store/connection.h"

typedef struct Upkeep Upkeep;

typedef struct UpkeepOptions {
    const char *conninfo; /* outlives the upkeep, as `owner` does */
    const char *owner;    /* this process life; unique */
    int history_days;     /* records of steps and outputs are kept */
    uint64_t blob_age_ms; /* blobs are kept that nothing refers to */
} UpkeepOptions;

MUST_USE Status upkeep_new(Call *call, const UpkeepOptions *options, Upkeep **ret_upkeep);
void upkeep_free(Upkeep *upkeep); /* NULL is allowed */
