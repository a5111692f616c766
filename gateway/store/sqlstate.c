#include "gateway/store/sqlstate.h"

#include <stddef.h>
#include <string.h>

#include "shared/base/compiler.h"

typedef struct Code {
    const char *prefix;
    SqlMeaning meaning;
} Code;

/* Codes by prefix; the first that fits decides (PostgreSQL 15, appendix A). 40P01 is a deadlock, 25006 a
 * standby or a failover under way, 57014 statement_timeout, which carries the call's deadline; class SL is
 * Sluice's own, raised in migrations. */
static const Code codes[] = {
    {"08", {STATUS_UNAVAILABLE, SQL_USUAL, "the connection to PostgreSQL failed"}},
    {"22", {STATUS_INVALID_ARGUMENT, SQL_ODD, NULL}},
    {"23503", {STATUS_FAILED_PRECONDITION, SQL_USUAL, "something that this refers to does not exist"}},
    {"23505", {STATUS_ALREADY_EXISTS, SQL_USUAL, "something of this identity is there already"}},
    {"23514", {STATUS_INVALID_ARGUMENT, SQL_ODD, "a value is outside of what the database allows"}},
    {"25006", {STATUS_UNAVAILABLE, SQL_ODD, "PostgreSQL is read-only now"}},
    {"25P03", {STATUS_UNAVAILABLE, SQL_ODD, "a transaction was idle for too long"}},
    {"28", {STATUS_UNAVAILABLE, SQL_ODD, "PostgreSQL does not let the gateway in"}},
    {"3D000", {STATUS_UNAVAILABLE, SQL_ODD, "the database does not exist"}},
    {"40001", {STATUS_ABORTED, SQL_USUAL, "others changed the same at the same moment"}},
    {"40P01", {STATUS_ABORTED, SQL_USUAL, "others changed the same at the same moment"}},
    {"40003", {STATUS_UNKNOWN, SQL_ODD, "it is not known whether PostgreSQL has done this"}},
    {"42P01",
        {STATUS_FAILED_PRECONDITION, SQL_ODD, "the database lacks a table: run 'sluice-gateway migrate'"}},
    {"42501", {STATUS_PERMISSION_DENIED, SQL_ODD, "the gateway's role in the database may not do this"}},
    {"53100", {STATUS_UNAVAILABLE, SQL_FULL, "PostgreSQL's disk is full"}},
    {"53", {STATUS_UNAVAILABLE, SQL_ODD, "PostgreSQL has no connections or no memory left"}},
    {"54", {STATUS_RESOURCE_EXHAUSTED, SQL_ODD, "this is more than PostgreSQL's limits allow"}},
    {"55P03", {STATUS_ABORTED, SQL_USUAL, "others hold the same for too long"}},
    {"57014", {STATUS_DEADLINE_EXCEEDED, SQL_USUAL, "PostgreSQL did not answer in time"}},
    {"57P", {STATUS_UNAVAILABLE, SQL_USUAL, "PostgreSQL is starting or stopping"}},
    {"SL001", {STATUS_FAILED_PRECONDITION, SQL_USUAL, NULL}},
    {"XX001", {STATUS_DATA_LOSS, SQL_ODD, "stored data is damaged"}},
    {"XX002", {STATUS_DATA_LOSS, SQL_ODD, "a stored index is damaged"}},
};

SqlMeaning
sqlstate_meaning(const char *sqlstate)
{
    if (sqlstate == NULL) {
        return (SqlMeaning){STATUS_UNAVAILABLE, SQL_USUAL, "the connection to PostgreSQL was lost"};
    }
    for (size_t index = 0; index < COUNT_OF(codes); index++) {
        if (strncmp(sqlstate, codes[index].prefix, strlen(codes[index].prefix)) == 0) {
            return codes[index].meaning;
        }
    }
    return (SqlMeaning){STATUS_INTERNAL, SQL_ODD, "PostgreSQL refused a statement"};
}

Status
sqlstate_status(const char *sqlstate)
{
    return sqlstate_meaning(sqlstate).status;
}
