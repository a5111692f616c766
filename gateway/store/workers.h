/* The worker pool: names, the task number that each name keeps as long as it is seen now and then, drain
 * marks. The gateways that poll a worker know whether it lives and its load; the database does not.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store. */
#pragma once

#include "gateway/store/connection.h"

typedef struct WorkerRecord {
    const char *name;
    int64_t task; /* the N of /job:worker/task:N */
    const char *address;
    const char *incarnation;
    bool is_draining;
    uint64_t first_seen_us;
    uint64_t last_seen_us;
} WorkerRecord;

typedef struct WorkerList {
    const WorkerRecord *items;
    size_t count;
} WorkerList;

/* Notes that each of these workers runs at its address as its incarnation, and lists them, in any order. New
 * names get the lowest free task numbers, in the order in which they stand. For a store of the role QUEUE. */
MUST_USE Status workers_upsert(
    Call *call, Store *store, const WorkerRecord *seen, size_t count, WorkerList *ret_list);

/* Lists workers in the order of task numbers, at most 10,000. */
MUST_USE Status workers_list(Call *call, Store *store, WorkerList *ret_list);
MUST_USE Status workers_find(Call *call, Store *store, const char *name, WorkerRecord *ret_worker);

MUST_USE Status workers_set_draining(Call *call, Store *store, const char *name, bool is_draining);

/* Forgets a worker; its task number becomes free. For a store of the role QUEUE. */
MUST_USE Status workers_delete(Call *call, Store *store, const char *name);

/* Forgets workers that workers_upsert() has not noted for `age_s` seconds. For a store of the role QUEUE. */
MUST_USE Status workers_forget(Call *call, Store *store, uint64_t age_s, uint64_t *ret_count);
