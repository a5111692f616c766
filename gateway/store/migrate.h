/* Migrations of the schema: the files of migrations/, embedded by the build, applied in order, forward
 * only.
 *
 * Threads: any; two that apply to one database wait for each other (an advisory lock).
 * Errors:  FAILED_PRECONDITION when the database holds a migration that this program does not know and that
 * is not usable without, or knows with other bytes, or lacks one that it knows (migrate_check() only). */
#pragma once

#include "gateway/store/connection.h"

typedef struct Migration {
    int version; /* 1, 2, 3 … */
    const char *name;
    const char *text;
} Migration;

extern const Migration migration_table[];
extern const size_t migration_table_count;

/* Returns the lowest version that a program must know to work with the schema behind this migration, which
 * says so in a line "-- usable from N"; 0: it says nothing, and programs must know the migration itself. */
int migration_usable_from(const Migration *migration);

/* Applies the migrations that are missing, each in a transaction of its own, and counts them. `conninfo`
 * names a user who may create roles and schemas. Blocks; the call's deadline bounds every statement. */
MUST_USE Status migrate_apply(Call *call, const char *conninfo, size_t *ret_applied);

/* Compares the database's schema with the one that this program was built for; OK when they are the same,
 * or the database's has more that this program can do without: two releases may run side by side. */
MUST_USE Status migrate_check(Call *call, Store *store);
