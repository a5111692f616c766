/* Worker sessions: leases under which partitions are registered. A lease that is not renewed for an hour
 * is forgotten. That is never noticed: the gateway puts a session again before it registers a partition.
 *
 * Threads: any; locks inside.
 * Errors:  RESOURCE_EXHAUSTED above SESSION_COUNT_MAX. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

enum { SESSION_COUNT_MAX = 65536, SESSION_LEASE_S = 3600 };

typedef struct SessionTable SessionTable;

MUST_USE SessionTable *session_table_new(void);
void session_table_free(SessionTable *table); /* NULL is allowed */

MUST_USE Status session_table_put(Call *call, SessionTable *table, Slice session, uint64_t now_ns);
void session_table_remove(SessionTable *table, Slice session);

/* Renews the lease; false when there is none or it has expired. */
bool session_table_renew(SessionTable *table, Slice session, uint64_t now_ns);
