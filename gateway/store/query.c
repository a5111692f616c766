/* Statements and transactions, each one or several pipelines. */
#include "gateway/store/connection.h"

#include <assert.h>
#include <time.h>

#include "gateway/store/pipeline.h"
#include "shared/base/clock.h"

STATEMENT(connections_allowed);
STATEMENT(context_set);
STATEMENT(transaction_begin);
STATEMENT(transaction_commit);
STATEMENT(transaction_context);
STATEMENT(transaction_rollback);
STATEMENT(transaction_status);

enum {
    ROLLBACK_MAX_MS = 1000,
    OUTCOME_MAX_MS = 2000, /* how long to ask what has become of a commit */
    OUTCOME_PAUSE_MS = 20,
};

/* Adds the statement that sets the tenant and the statement timeout. PostgreSQL stops a little before the
 * deadline, so that a late statement usually costs no connection. */
static void
add_context(Pipeline *pipeline, Call *call, Store *store, TenantId tenant, const Statement *statement)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ms = (store_wait_end_ns(call, store, now_ns) - now_ns) / CLOCK_NS_PER_MS;
    uint64_t timeout_ms = left_ms - left_ms / 10;
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_int64(&values, timeout_ms == 0 ? 1 : (int64_t)timeout_ms);
    pipeline_add(pipeline, store, statement, &values);
}

/* Adds the commands that come before a statement: begin, and the context. */
static Status
prepare_pipeline(Call *call, Store *store, TenantId tenant, Pipeline *pipeline)
{
    TRY(call_check(call, clock_monotonic_ns()));
    if (store->transaction == TRANSACTION_LOST) {
        return call_fail(
            call, STATUS_UNAVAILABLE, "the connection to PostgreSQL was lost in this transaction");
    }
    if (store->transaction == TRANSACTION_OPEN) {
        assert(uuid_equal(tenant.value, store->tenant.value));
        return STATUS_OK;
    }
    Transaction asked = store->transaction;
    store->transaction = TRANSACTION_NONE; /* connecting does not lose this transaction, which has not
                                            * begun there */
    Status status = store_connect(call, store);
    store->transaction = asked;
    TRY(status);
    if (asked == TRANSACTION_ASKED) {
        assert(uuid_equal(tenant.value, store->tenant.value));
        pipeline_add(pipeline, store, &sql_transaction_begin, &(Values){0});
        store->transaction = TRANSACTION_OPEN;
        store->transaction_number[0] = '\0';
    }
    add_context(pipeline, call, store, tenant,
        asked == TRANSACTION_ASKED ? &sql_transaction_context : &sql_context_set);
    return STATUS_OK;
}

Status
store_query(Call *call, Store *store, TenantId tenant, const Statement *statement, const Values *values,
    Rows *ret_rows)
{
    assert(statement != NULL && values != NULL);

    Pipeline pipeline = {0};
    PGresult *result = NULL;
    TRY(prepare_pipeline(call, store, tenant, &pipeline));
    pipeline_add(&pipeline, store, statement, values);
    TRY(pipeline_run(call, store, &pipeline, &result));
    uint64_t changed = 0;
    (void)slice_to_uint64(slice_from_string(PQcmdTuples(result)), &changed);
    *ret_rows = (Rows){.result = result, .count = (size_t)PQntuples(result), .changed = changed};
    store_slim(store);
    return STATUS_OK;
}

Status
store_execute(Call *call, Store *store, TenantId tenant, const Statement *statement, const Values *values,
    uint64_t *ret_changed)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, tenant, statement, values, &rows));
    if (ret_changed != NULL) {
        *ret_changed = rows.changed;
    }
    return STATUS_OK;
}

bool
store_is_in_transaction(const Store *store)
{
    return store->transaction != TRANSACTION_NONE;
}

Status
store_begin(Call *call, Store *store, TenantId tenant)
{
    assert(store->transaction == TRANSACTION_NONE);
    TRY(call_check(call, clock_monotonic_ns()));
    store->transaction = TRANSACTION_ASKED;
    store->tenant = tenant;
    return STATUS_OK;
}

/* Judges the answer to a commit. Two answers look like successes: "ROLLBACK", of a transaction that had
 * failed; and "COMMIT" beside a warning, when the wait for a synchronous standby was broken off and the
 * standby may not have it. */
static Status
judge_commit(Call *call, const Store *store, PGresult *result)
{
    bool is_committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    if (!is_committed) {
        return call_fail(call, STATUS_ABORTED, "the transaction had failed and was rolled back");
    }
    return store->is_warned ? call_fail(call, STATUS_UNKNOWN, "the commit may not have reached the standby")
                            : STATUS_OK;
}

/* Asks over a new connection for the outcome of the transaction; "" when it is not known. */
static Status
ask_outcome(Call *call, Store *store, const char **ret_outcome)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_text(&values, store->transaction_number);
    TRY(store_query(call, store, NO_TENANT, &sql_transaction_status, &values, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    const char *outcome = row_text(&reader);
    TRY(row_end(call, &reader));
    *ret_outcome = outcome;
    return STATUS_OK;
}

/* Finds out what has become of a commit that was asked for when the connection was lost: it may still be
 * under way, and PostgreSQL may still be on its way back. */
static Status
find_outcome(Call *call, Store *store)
{
    struct timespec pause = {.tv_nsec = (long)(OUTCOME_PAUSE_MS * CLOCK_NS_PER_MS)};
    Call asking = {
        .arena = call->arena, .deadline_ns = clock_monotonic_ns() + OUTCOME_MAX_MS * CLOCK_NS_PER_MS};
    store->transaction = TRANSACTION_NONE;
    while (call_check(&asking, clock_monotonic_ns()) == STATUS_OK) {
        const char *outcome = "in progress";
        Status status = ask_outcome(&asking, store, &outcome);
        if (status == STATUS_OK && strcmp(outcome, "committed") == 0) {
            return STATUS_OK;
        }
        if (status == STATUS_OK && strcmp(outcome, "aborted") == 0) {
            return call_fail(call, STATUS_UNAVAILABLE,
                "the connection to PostgreSQL was lost during a commit, which has not happened");
        }
        (void)nanosleep(&pause, NULL);
    }
    return call_fail(call, STATUS_UNKNOWN,
        "the connection to PostgreSQL was lost during a commit, which may have happened");
}

static Status
commit_now(Call *call, Store *store)
{
    Pipeline pipeline = {0};
    PGresult *result = NULL;
    pipeline_add(&pipeline, store, &sql_transaction_commit, &(Values){0});
    Status status = pipeline_run(call, store, &pipeline, &result);
    if (status == STATUS_OK) {
        return judge_commit(call, store, result);
    }
    return store->connection == NULL ? find_outcome(call, store) : status;
}

Status
store_commit(Call *call, Store *store)
{
    assert(store->transaction != TRANSACTION_NONE);
    if (store->transaction == TRANSACTION_OPEN) {
        Status status = commit_now(call, store);
        store->transaction = TRANSACTION_NONE;
        store_slim(store);
        return status;
    }
    bool is_lost = store->transaction == TRANSACTION_LOST;
    store->transaction = TRANSACTION_NONE;
    return is_lost ? call_fail(call, STATUS_UNAVAILABLE,
                         "the connection to PostgreSQL was lost in this transaction")
                   : STATUS_OK;
}

void
store_rollback(Store *store)
{
    if (store->transaction == TRANSACTION_OPEN) {
        Call call = {.deadline_ns = clock_monotonic_ns() + ROLLBACK_MAX_MS * CLOCK_NS_PER_MS};
        Pipeline pipeline = {0};
        PGresult *result = NULL;
        pipeline_add(&pipeline, store, &sql_transaction_rollback, &(Values){0});
        if (pipeline_run(&call, store, &pipeline, &result) == STATUS_OK) {
            PQclear(result);
        } else if (store->connection != NULL) {
            store_disconnect(store);
        }
    }
    store->transaction = TRANSACTION_NONE;
    store_slim(store);
}

Status
store_connections_allowed(Call *call, Store *store, uint64_t *ret_count)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_connections_allowed, &(Values){0}, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    int64_t count = row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_count = (uint64_t)count;
    return STATUS_OK;
}
