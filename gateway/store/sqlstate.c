#include "gateway/store/sqlstate.h"

#include <stddef.h>
#include <string.h>

#include "shared/base/compiler.h"

typedef struct Meaning {
    const char *prefix;
    Status status;
} Meaning;

/* Codes by prefix; the first that fits decides (PostgreSQL 15, appendix A). Class SL is Sluice's own,
 * raised in migrations. */
static const Meaning meanings[] = {
    {"08", STATUS_UNAVAILABLE},            /* connection exceptions */
    {"22", STATUS_INVALID_ARGUMENT},       /* data exceptions */
    {"23503", STATUS_FAILED_PRECONDITION}, /* unique key */
    {"23505", STATUS_ALREADY_EXISTS},      /* unique key */
    {"23514", STATUS_INVALID_ARGUMENT},    /* check */
    {"25006", STATUS_UNAVAILABLE},         /* read-only: a standby, or a failover under way */
    {"25P03", STATUS_UNAVAILABLE},         /* idle in transaction for too long */
    {"28", STATUS_UNAVAILABLE},            /* the role may not log in: an operator must act */
    {"3D000", STATUS_UNAVAILABLE},         /* no such database */
    {"40001", STATUS_ABORTED},             /* serialization failure */
    {"40P01", STATUS_ABORTED},             /* deadlock */
    {"40003", STATUS_UNKNOWN},             /* statement completion unknown */
    {"42P01", STATUS_FAILED_PRECONDITION}, /* no such table: not migrated */
    {"42501", STATUS_PERMISSION_DENIED},   /* row security, privileges */
    {"53", STATUS_UNAVAILABLE},            /* too many connections, disk full, out of memory */
    {"54", STATUS_RESOURCE_EXHAUSTED},     /* program limits */
    {"55P03", STATUS_ABORTED},             /* lock not available */
    {"57014", STATUS_DEADLINE_EXCEEDED},   /* statement_timeout, which carries the call's deadline */
    {"57P", STATUS_UNAVAILABLE},           /* shutting down, crashed, starting up */
    {"SL001", STATUS_FAILED_PRECONDITION}, /* a move that step_moves does not have */
    {"XX001", STATUS_DATA_LOSS},           /* corrupted data */
    {"XX002", STATUS_DATA_LOSS},           /* corrupted index */
};

Status
sqlstate_status(const char *sqlstate)
{
    if (sqlstate == NULL) {
        return STATUS_UNAVAILABLE;
    }
    for (size_t index = 0; index < COUNT_OF(meanings); index++) {
        if (strncmp(sqlstate, meanings[index].prefix, strlen(meanings[index].prefix)) == 0) {
            return meanings[index].status;
        }
    }
    return STATUS_INTERNAL;
}
