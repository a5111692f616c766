/* One round trip in libpq's pipeline mode:
 *   1. every command is queued: prepare (once a connection), then run;
 *   2. a sync marks the end; without an explicit begin, everything up to it is one transaction;
 *   3. the queue is written while answers are read, so that neither side waits on a full buffer;
 *   4. each command has one answer; all behind a failed one say "aborted", up to the sync.
 * A failure in step 3 gives the connection up, since later answers on it could not be told apart. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "gateway/store/pipeline.h"
#include "gateway/store/pulse.h"
#include "gateway/store/sqlstate.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/telemetry/log.h"

STATEMENT(transaction_context);

enum {
    RESULT_BINARY = 1,
    WIDE_SIZE = 512 * 1024, /* bytes of a command or an answer that make libpq's buffers wide */
    WIDE_CONNECTIONS_MAX = 2,
};

static int32_t wide_count; /* atomic: connections of this process whose buffers are wide */

void
store_disconnect(Store *store)
{
    assert(store->is_prepared != NULL);

    PQfinish(store->connection);
    store->connection = NULL;
    if (store->is_wide) {
        store->is_wide = false;
        (void)atomic_sub_acq_rel(&wide_count, 1);
    }
    memset(store->is_prepared, 0, sql_table_count * sizeof *store->is_prepared);
    if (store->transaction != TRANSACTION_NONE) {
        store->transaction = TRANSACTION_LOST;
    }
}

void
store_slim(Store *store)
{
    if (store->is_wide && store->transaction == TRANSACTION_NONE &&
        atomic_load_relaxed(&wide_count) > WIDE_CONNECTIONS_MAX) {
        store_disconnect(store);
    }
}

static void
note_size(Store *store, size_t size)
{
    if (size >= WIDE_SIZE && !store->is_wide) {
        store->is_wide = true;
        (void)atomic_add_acq_rel(&wide_count, 1);
    }
}

uint64_t
store_wait_end_ns(const Call *call, const Store *store, uint64_t now_ns)
{
    uint64_t left_ns = call_time_left_ns(call, now_ns);
    return now_ns + (left_ns < store->wait_max_ns ? left_ns : store->wait_max_ns);
}

Status
store_wait(Call *call, Store *store, short events, uint64_t end_ns)
{
    struct pollfd socket = {.fd = PQsocket(store->connection), .events = events};
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ms = now_ns >= end_ns ? 0 : (end_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
        bool is_silent = pulse_is_silent(now_ns) && !store->is_probe; /* the probe looks too */
        uint64_t wait_ms = is_silent ? 0 : left_ms;
        int ready = poll(&socket, 1, wait_ms > PULSE_LOOK_MS ? PULSE_LOOK_MS : (int)wait_ms);
        assert(ready >= 0 || errno == EINTR);
        if (ready > 0) {
            return STATUS_OK;
        }
        if (ready == 0 && wait_ms == 0) {
            store_disconnect(store);
            return is_silent ? call_fail(call, STATUS_UNAVAILABLE, "PostgreSQL does not answer")
                             : call_fail(call, STATUS_DEADLINE_EXCEEDED, "PostgreSQL did not answer in time");
        }
    }
}

static void
note_command(Pipeline *pipeline, const Statement *statement, bool is_prepare, bool is_queued)
{
    assert(pipeline->count < PIPELINE_COMMANDS_MAX);
    pipeline->commands[pipeline->count] = statement;
    pipeline->is_prepare[pipeline->count] = is_prepare;
    pipeline->count++;
    pipeline->has_failed = pipeline->has_failed || !is_queued;
}

void
pipeline_add(Pipeline *pipeline, Store *store, const Statement *statement, const Values *values)
{
    assert(values->count == statement->parameter_count);
    if (!store->is_prepared[statement->index]) {
        int is_queued = PQsendPrepare(store->connection, statement->name, statement->text, 0, NULL);
        note_command(pipeline, statement, true, is_queued == 1);
    }
    size_t size = 0;
    for (int index = 0; index < values->count; index++) {
        size += (size_t)values->sizes[index];
    }
    note_size(store, size);
    int is_queued = PQsendQueryPrepared(store->connection, statement->name, values->count, values->data,
        values->sizes, values->formats, RESULT_BINARY);
    note_command(pipeline, statement, false, is_queued == 1);
}

static Status
fail_lost(Call *call, Store *store)
{
    Slice message = slice_from_string(PQerrorMessage(store->connection));
    Slice line = slice_part(message, 0, slice_find(message, '\n'));
    Status status =
        call_fail(call, STATUS_UNAVAILABLE, "the connection to PostgreSQL was lost: %.*s", SLICE_PRINT(line));
    store_disconnect(store);
    return status;
}

/* Waits until libpq holds a whole answer. */
static Status
await_answer(Call *call, Store *store, uint64_t end_ns)
{
    for (;;) {
        int unsent = PQflush(store->connection);
        if (unsent < 0) {
            return fail_lost(call, store);
        }
        if (PQisBusy(store->connection) == 0) {
            return STATUS_OK;
        }
        TRY(store_wait(call, store, unsent == 0 ? POLLIN : POLLIN | POLLOUT, end_ns));
        if (PQconsumeInput(store->connection) != 1) {
            return fail_lost(call, store);
        }
    }
}

static Status
next_answer(Call *call, Store *store, uint64_t end_ns, PGresult **ret_result)
{
    TRY(await_answer(call, store, end_ns));
    *ret_result = PQgetResult(store->connection);
    return STATUS_OK;
}

/* Tells the caller what the failure means, and the log what PostgreSQL said, which names tables and files. */
static Status
explain_failure(Call *call, const Statement *statement, const PGresult *result)
{
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    SqlMeaning meaning = sqlstate_meaning(code);
    if (meaning.kind == SQL_FULL) {
        pulse_note_full(clock_monotonic_ns());
    }
    if (meaning.text == NULL) {
        return call_fail(call, meaning.status, "%s", message == NULL ? "the database refused this" : message);
    }
    if (meaning.kind != SQL_USUAL) {
        log_event(LOG_WARNING, "a statement failed", log_text("statement", statement->name),
            log_text("sqlstate", code == NULL ? "" : code),
            log_text("message", message == NULL ? "" : message));
    }
    return call_fail(call, meaning.status, "%s", meaning.text);
}

/* Reads the next command's answer, and the NULL that ends it. */
static Status
read_answer(Call *call, Store *store, uint64_t end_ns, PGresult **ret_result)
{
    PGresult *end = NULL;
    TRY(next_answer(call, store, end_ns, ret_result));
    if (*ret_result == NULL) {
        return fail_lost(call, store);
    }
    Status status = next_answer(call, store, end_ns, &end);
    if (status == STATUS_OK && end == NULL) {
        return STATUS_OK;
    }
    PQclear(end);
    PQclear(TAKE(*ret_result));
    return status == STATUS_OK ? fail_lost(call, store) : status;
}

static Status
read_sync(Call *call, Store *store, uint64_t end_ns)
{
    PGresult *result = NULL;
    TRY(next_answer(call, store, end_ns, &result));
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_PIPELINE_SYNC ? STATUS_OK : fail_lost(call, store);
}

/* Notes the number of the transaction that begins. */
static void
note_transaction(Store *store, const PGresult *result)
{
    enum { NUMBER_COLUMN = 2 };
    (void)snprintf(store->transaction_number, sizeof store->transaction_number, "%s",
        PQgetvalue(result, 0, NUMBER_COLUMN));
}

static bool
is_success(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Reads every answer; the first failure is the one explained, since the others only follow from it. */
static Status
read_answers(Call *call, Store *store, const Pipeline *pipeline, uint64_t end_ns, PGresult **ret_result)
{
    Status outcome = STATUS_OK;
    for (int index = 0; index < pipeline->count; index++) {
        const Statement *statement = pipeline->commands[index];
        PGresult *result = NULL;
        Status status = read_answer(call, store, end_ns, &result);
        if (status != STATUS_OK) {
            return status;
        }
        if (is_success(result)) {
            store->is_prepared[statement->index] = true;
            if (statement == &sql_transaction_context && !pipeline->is_prepare[index]) {
                note_transaction(store, result);
            }
        } else if (outcome == STATUS_OK) {
            outcome = explain_failure(call, statement, result);
        }
        if (index + 1 == pipeline->count && outcome == STATUS_OK) {
            *ret_result = result;
        } else {
            PQclear(result);
        }
    }
    return outcome;
}

Status
pipeline_run(Call *call, Store *store, Pipeline *pipeline, PGresult **ret_result)
{
    assert(pipeline->count > 0 && store->connection != NULL);

    if (pipeline->has_failed || PQpipelineSync(store->connection) != 1) {
        return fail_lost(call, store);
    }
    store->is_warned = false;
    uint64_t end_ns = store_wait_end_ns(call, store, clock_monotonic_ns());
    PGresult *result = NULL;
    Status outcome = read_answers(call, store, pipeline, end_ns, &result);
    Status synced = store->connection == NULL ? outcome : read_sync(call, store, end_ns);
    if (outcome != STATUS_OK || synced != STATUS_OK) {
        PQclear(result);
        return outcome != STATUS_OK ? outcome : synced;
    }
    if (PQstatus(store->connection) == CONNECTION_BAD) {
        PQclear(result);
        return fail_lost(call, store);
    }
    note_size(store, PQresultMemorySize(result));
    *ret_result = result;
    return STATUS_OK;
}
