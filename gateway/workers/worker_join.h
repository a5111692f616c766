/* The message by which a worker joins, and the checks before it may.
 *
 * Ownership: texts live in call->arena.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT with all faults of the body. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "gateway/http/request.h"
#include "gateway/store/worker_leases.h"

typedef struct WorkerJoin {
    WorkerLease lease; /* without its length */
    bool is_leaving;   /* it wants no new steps */
} WorkerJoin;

MUST_USE Status worker_join_read(Call *call, const Request *request, WorkerJoin *ret_join);

/* Returns the name in the path, ended by a zero; NULL without memory. */
const char *worker_name_read(Call *call, const Request *request);

/* Returns whether a worker may join under this name: letters, digits, '.', '_' and '-', of which the first is
 * no sign. */
bool worker_name_is_ok(Slice text);

/* A worker's incarnation has 16 hexadecimal digits. */
bool worker_incarnation_is_ok(Slice text);
