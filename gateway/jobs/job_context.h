/* The context of a job thread: one connection to PostgreSQL for each role, opened when a job first asks
 * for it and kept as long as the thread lives.
 *
 * Ownership: made and freed by the job pool, on the thread.
 * Threads:   its own.
 * Errors:    UNAVAILABLE when PostgreSQL cannot be reached. */
#pragma once

#include "gateway/store/connection.h"

enum { JOB_CONNECTIONS_MAX = STORE_ROLE_AUTH + 1 }; /* connections that one job thread may open */

typedef struct JobContext JobContext;

typedef struct JobContextOptions {
    const char *conninfo;
    BlobBackend *blobs;  /* StoreOptions.blobs */
    const char *gateway; /* StoreOptions.gateway */
} JobContextOptions;

/* Makes a context, as JobPoolOptions has it; `options` is a const JobContextOptions * and outlives the
 * context. */
MUST_USE Status job_context_new(Call *call, const void *options, JobContext **ret_context);
void job_context_free(JobContext *context);

/* Returns the thread's connection under this role. */
MUST_USE Status job_store(Call *call, JobContext *context, StoreRole role, Store **ret_store);
