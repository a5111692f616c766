#include "gateway/store/migrate.h"

#include <assert.h>
#include <libpq-fe.h>
#include <limits.h>
#include <string.h>

#include "gateway/store/sqlstate.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

STATEMENT(schema_versions);

/* One row of schema_version. */
typedef struct Applied {
    int64_t version;
    const char *name;
    Sha256 checksum;
    int64_t usable_from; /* migration_usable_from(); 0: none */
} Applied;

static void
clear_result(PGresult **result)
{
    PQclear(*result);
}
#define AUTO_RESULT CLEANUP(clear_result) PGresult *

static void
finish_connection(PGconn **connection)
{
    PQfinish(*connection);
}
#define AUTO_CONNECTION CLEANUP(finish_connection) PGconn *

int
migration_usable_from(const Migration *migration)
{
    static const char mark[] = "-- usable from ";
    const char *found = strstr(migration->text, mark);
    if (found == NULL) {
        return 0;
    }
    Slice rest = slice_from_string(found + sizeof mark - 1);
    Slice line = slice_of(NULL, 0);
    uint64_t version = 0;
    bool is_number = slice_split(&rest, '\n', &line) && slice_to_uint64(slice_trim(line), &version);
    return is_number && version <= INT_MAX ? (int)version : 0;
}

static Status
compare_unknown(Call *call, const Applied *applied)
{
    int last = migration_table[migration_table_count - 1].version;
    return applied->usable_from > 0 && applied->usable_from <= last
               ? STATUS_OK
               : call_fail(call, STATUS_FAILED_PRECONDITION,
                     "the database has migration '%s', which this program does not know: it is too old",
                     applied->name);
}

static Status
compare_versions(Call *call, size_t index, const Applied *applied)
{
    if (index >= migration_table_count) {
        return compare_unknown(call, applied);
    }
    const Migration *known = &migration_table[index];
    Sha256 checksum;
    sha256(slice_from_string(known->text), &checksum);
    if (applied->version != known->version || !sha256_equal(&applied->checksum, &checksum)) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the database's migration %lld, '%s', is not this program's migration %d, '%s'",
            (long long)applied->version, applied->name, known->version, known->name);
    }
    return STATUS_OK;
}

static Status
compare_all(Call *call, const Rows *rows)
{
    for (size_t index = 0; index < rows->count; index++) {
        RowReader reader = row_reader(call, rows, index);
        Applied applied;
        applied.version = row_int64(&reader);
        applied.name = row_text(&reader);
        applied.checksum = row_digest(&reader);
        applied.usable_from = row_int64(&reader);
        TRY(row_end(call, &reader));
        TRY(compare_versions(call, index, &applied));
    }
    return STATUS_OK;
}

Status
migrate_check(Call *call, Store *store)
{
    AUTO_ROWS rows = {0};
    if (store_query(call, store, NO_TENANT, &sql_schema_versions, &(Values){0}, &rows) != STATUS_OK) {
        return call_wrap(call, "reading the schema's version");
    }
    TRY(compare_all(call, &rows));
    if (rows.count < migration_table_count) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the database lacks migration '%s': run 'sluice-gateway migrate'",
            migration_table[rows.count].name);
    }
    return STATUS_OK;
}

static Status
explain_error(Call *call, PGconn *connection, const PGresult *result, const char *what)
{
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    Status status = sqlstate_status(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    return call_fail(
        call, status, "%s failed: %s", what, primary == NULL ? PQerrorMessage(connection) : primary);
}

/* Runs a text of one or several statements. */
static Status
run_text(Call *call, PGconn *connection, const char *text, const char *what)
{
    TRY(call_check(call, clock_monotonic_ns()));
    AUTO_RESULT result = PQexec(connection, text);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        return STATUS_OK;
    }
    return explain_error(call, connection, result, what);
}

static Status
run_with_values(Call *call, PGconn *connection, const char *text, const Values *values, Rows *ret_rows)
{
    TRY(call_check(call, clock_monotonic_ns()));
    PGresult *result =
        PQexecParams(connection, text, values->count, NULL, values->data, values->sizes, values->formats, 1);
    ExecStatusType status = PQresultStatus(result);
    *ret_rows = (Rows){.result = result, .count = (size_t)PQntuples(result)};
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        return STATUS_OK;
    }
    return explain_error(call, connection, result, "reading or writing the schema's version");
}

/* Adds the column that the migrator keeps for itself, so that every program finds it whatever it knows. */
static Status
prepare_versions(Call *call, PGconn *connection)
{
    return run_text(call, connection,
        "do $$ begin "
        "if not exists (select from pg_attribute where attrelid = 'sluice.schema_version'::regclass "
        "and attname = 'usable_from') then "
        "alter table sluice.schema_version add column usable_from integer; "
        "end if; end $$",
        "preparing the schema's version");
}

static Status
find_applied(Call *call, PGconn *connection, size_t *ret_count)
{
    AUTO_ROWS found = {0};
    AUTO_ROWS rows = {0};
    TRY(run_with_values(
        call, connection, "select to_regclass('sluice.schema_version') is not null", &(Values){0}, &found));
    RowReader reader = row_reader(call, &found, 0);
    if (!row_boolean(&reader)) {
        *ret_count = 0;
        return STATUS_OK;
    }
    TRY(prepare_versions(call, connection));
    TRY(run_with_values(call, connection,
        "select version, name, checksum, usable_from::bigint from sluice.schema_version order by version",
        &(Values){0}, &rows));
    TRY(compare_all(call, &rows));
    *ret_count = rows.count;
    return STATUS_OK;
}

static Status
apply_one(Call *call, PGconn *connection, const Migration *migration)
{
    Sha256 checksum;
    Values values = {0};
    AUTO_ROWS rows = {0};
    sha256(slice_from_string(migration->text), &checksum);
    values_int64(&values, migration->version);
    values_text(&values, migration->name);
    values_digest(&values, &checksum);
    values_int64(&values, migration_usable_from(migration));
    TRY(run_text(call, connection, "begin", "beginning a migration"));
    TRY(run_text(call, connection, migration->text, migration->name));
    TRY(prepare_versions(call, connection));
    TRY(run_with_values(call, connection,
        "insert into sluice.schema_version (version, name, checksum, usable_from) values ($1, $2, $3, $4)",
        &values, &rows));
    return run_text(call, connection, "commit", migration->name);
}

static Status
limit_statements(Call *call, PGconn *connection)
{
    uint64_t left_ns = call_time_left_ns(call, clock_monotonic_ns());
    uint64_t left_ms = left_ns / CLOCK_NS_PER_MS;
    Values values = {0};
    AUTO_ROWS rows = {0};
    values_int64(&values, call->deadline_ns == 0 || left_ms > INT32_MAX ? 0 : (int64_t)left_ms + 1);
    return run_with_values(
        call, connection, "select set_config('statement_timeout', $1, false)", &values, &rows);
}

Status
migrate_apply(Call *call, const char *conninfo, size_t *ret_applied)
{
    assert(conninfo != NULL);

    const char *const keywords[] = {"connect_timeout", "application_name", "dbname", NULL};
    const char *const parameters[] = {"10", "sluice-migrate", conninfo, NULL};
    AUTO_CONNECTION connection = PQconnectdbParams(keywords, parameters, 1);
    if (PQstatus(connection) != CONNECTION_OK) {
        return call_fail(
            call, STATUS_UNAVAILABLE, "PostgreSQL cannot be reached: %s", PQerrorMessage(connection));
    }
    size_t known = 0;
    TRY(limit_statements(call, connection));
    TRY(run_text(call, connection, "select pg_advisory_lock(hashtextextended('sluice.migrate', 0))",
        "waiting for another migration"));
    TRY(find_applied(call, connection, &known));
    for (size_t index = known; index < migration_table_count; index++) {
        TRY(apply_one(call, connection, &migration_table[index]));
    }
    *ret_applied = known < migration_table_count ? migration_table_count - known : 0;
    return STATUS_OK;
}
