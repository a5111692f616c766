/* Upkeep of the database, on a thread of its own: partitions of history are made and dropped, ended steps
 * leave the hot table, and expired rows are removed tenant by tenant: answers to idempotency keys, outputs
 * that are older than the history, blobs that nothing refers to. Workers that nobody has seen for as long as
 * the history are forgotten. One gateway, which holds the lease, does it for all.
 *
 * Ownership: upkeep_free() ends the thread.
 * Threads:   any.
 * Errors:    upkeep_new(): UNAVAILABLE for the thread. An unreachable PostgreSQL is no error: the thread
 *            tries again. */
#pragma once

#include "gateway/store/connection.h"

typedef struct Upkeep Upkeep;

typedef struct UpkeepOptions {
    const char *conninfo; /* outlives the upkeep, as `owner` does */
    const char *owner;    /* names this process life; unique */
    int history_days;     /* how long records of steps, outputs, and workers that nobody sees are kept */
    uint64_t blob_age_ms; /* how long blobs are kept that nothing refers to, and uploads that nobody goes on
                             with */
    uint64_t events_ms;   /* how long events are kept */
    uint64_t workers_ms;  /* from the start on, until which gateways have seen all workers that live */
    BlobBackend *blobs;   /* StoreOptions.blobs */
} UpkeepOptions;

MUST_USE Status upkeep_new(Call *call, const UpkeepOptions *options, Upkeep **ret_upkeep);
void upkeep_free(Upkeep *upkeep); /* NULL is allowed */
