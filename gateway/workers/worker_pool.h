/* The workers of this gateway, as the database and the network know them: discovery polls them, and here it
 * is told what it cannot find out itself. A worker's task number, which its name keeps, and its drain mark
 * come from the database, which is told every RENEW_MS at the least that the worker is still seen: there it
 * is forgotten otherwise; so does who has joined by itself (members.h). The addresses behind a "dns:" name
 * are looked up; those of a Service are watched (endpoint_sources.h).
 *
 * An operator sets a drain mark in the database through any gateway, a worker joins through any. The database
 * tells every gateway of that (worker_pool_look()), which looks there every WORKER_MARKS_MS anyway.
 *
 * Ownership: owns the discovery. Stop it before its loop is turned for the last time, free it once the job
 *            threads have ended.
 * Threads:   its loop's; worker_pool_look() and worker_pool_serves() from any.
 * Errors:    those of discovery_start(). */
#pragma once

#include "gateway/dispatch/discovery.h"
#include "gateway/jobs/job_pool.h"
#include "gateway/workers/endpoint_sources.h"

enum { WORKER_MARKS_MS = 2000 };

typedef struct WorkerPool WorkerPool;

typedef struct WorkerPoolOptions {
    Loop *loop;
    JobPool *jobs;
    Directory *directory; /* that discovery publishes into */
    const Slice *addresses;
    size_t address_count;
    UpstreamOptions upstream;
    size_t workers_wanted; /* that must serve before the pool does, at least 1 */
    KubernetesAccess kubernetes;
} WorkerPoolOptions;

MUST_USE Status worker_pool_start(Call *call, const WorkerPoolOptions *options, WorkerPool **ret_pool);

/* Looks in the database now, as a mark was just set, or a worker came or went. */
void worker_pool_look(WorkerPool *pool);

void worker_pool_stop(WorkerPool *pool); /* NULL is allowed */
void worker_pool_free(WorkerPool *pool); /* NULL is allowed */

typedef struct WorkersThere {
    size_t count;  /* workers that serve, as discovery last heard */
    size_t wanted; /* as many as the options say, until so many have served at a time; then 1 */
} WorkersThere;

/* Returns whether as many workers serve as are wanted now. */
bool worker_pool_serves(WorkerPool *pool, WorkersThere *ret_there);

/* Returns how many steps the devices of serving workers compute at a time. */
double worker_pool_slots(Directory *directory);
