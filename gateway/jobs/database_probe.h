/* A probe of whether PostgreSQL answers, asked twice a second by a thread with a connection of its own. Who
 * wants to know reads the last answer, and all stores heed its pulse (store/pulse.h), so that a question
 * about the gateway's health never waits behind users' work, nor for a database that does not answer.
 *
 * Threads: any; database_probe_free() main's.
 * Errors:  those of opening the thread. */
#pragma once

#include "shared/base/call.h"

typedef struct DatabaseProbe DatabaseProbe;

/* `conninfo` outlives the probe. PostgreSQL counts as answering until it was asked first. */
MUST_USE Status database_probe_new(Call *call, const char *conninfo, DatabaseProbe **ret_probe);
void database_probe_free(DatabaseProbe *probe); /* NULL is allowed */

/* Notes why PostgreSQL cannot serve now: it is out of reach, has another schema, has no room to write, or has
 * not answered for a second. */
MUST_USE Status database_probe_read(DatabaseProbe *probe, Call *call);
