/* A connection begins with PQconnectStart(), a poll for each step of the handshake, then one statement
 * that sets the session up and asks for the rights of the role. A failure starts a pause before the next
 * attempt, so that not all gateways meet a database at the moment it comes back. */
#include "gateway/store/connection.h"

#include <assert.h>
#include <poll.h>

#include "gateway/store/pipeline.h"
#include "gateway/store/pulse.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"

STATEMENT(session_begin);

enum { WAIT_MAX_MS_DEFAULT = 30000, CONNECT_MAX_MS = 3000, PAUSE_MIN_MS = 50, PAUSE_MAX_MS = 5000 };

static const char *const role_names[] = {
    [STORE_ROLE_APP] = "sluice_app",
    [STORE_ROLE_QUEUE] = "sluice_queue",
    [STORE_ROLE_AUTH] = "sluice_auth",
};

/* Chooses a pause with decorrelated jitter: between the least pause and three times the last one. */
static void
pause_before_next_attempt(Store *store)
{
    uint64_t least = PAUSE_MIN_MS * CLOCK_NS_PER_MS;
    uint64_t most = PAUSE_MAX_MS * CLOCK_NS_PER_MS;
    uint64_t last = store->connect_pause_ns < least ? least : store->connect_pause_ns;
    uint64_t pause = least + random_uint64() % (3 * last - least + 1);
    store->connect_pause_ns = pause < most ? pause : most;
    store->connect_after_ns = clock_monotonic_ns() + store->connect_pause_ns;
}

/* libpq ends its messages with a line feed, and may send several lines: the first one is enough. */
static Status
fail_connect(Call *call, Store *store)
{
    Slice message = slice_from_string(PQerrorMessage(store->connection));
    Slice line = slice_part(message, 0, slice_find(message, '\n'));
    return call_fail(call, STATUS_UNAVAILABLE, "PostgreSQL cannot be reached: %.*s", SLICE_PRINT(line));
}

static Status
await_handshake(Call *call, Store *store, uint64_t end_ns)
{
    for (;;) {
        switch (PQconnectPoll(store->connection)) {
        case PGRES_POLLING_OK:
            return STATUS_OK;
        case PGRES_POLLING_READING:
            TRY(store_wait(call, store, POLLIN, end_ns));
            break;
        case PGRES_POLLING_WRITING:
            TRY(store_wait(call, store, POLLOUT, end_ns));
            break;
        case PGRES_POLLING_FAILED:
        case PGRES_POLLING_ACTIVE:
        default:
            return fail_connect(call, store);
        }
    }
}

/* Makes the handshake in CONNECT_MAX_MS: a server that takes longer lets nobody in, whoever has time left. */
static Status
make_handshake(Call *call, Store *store)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t end_ns = store_wait_end_ns(call, store, now_ns);
    uint64_t patience_ns = store->is_probe ? end_ns : now_ns + CONNECT_MAX_MS * CLOCK_NS_PER_MS;
    Status status = await_handshake(call, store, end_ns < patience_ns ? end_ns : patience_ns);
    return status == STATUS_DEADLINE_EXCEEDED && patience_ns < end_ns
               ? call_fail(call, STATUS_UNAVAILABLE, "PostgreSQL does not let anybody in")
               : status;
}

/* Keywords before `dbname` are defaults that the conninfo may change; the user, behind it, it may not. A
 * peer that is gone is noticed in five seconds (keepalives notice when no data are pending, the user
 * timeout when some are). */
static PGconn *
start_connection(const Store *store)
{
    const char *const keywords[] = {"application_name", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "target_session_attrs", "dbname", "user", "client_encoding",
        NULL};
    const char *const values[] = {
        "sluice-gateway", "2", "1", "3", "5000", "read-write", store->conninfo, store->user, "UTF8", NULL};
    return PQconnectStartParams(keywords, values, 1);
}

static Status
begin_session(Call *call, Store *store)
{
    PGresult *result = NULL;
    Pipeline pipeline = {0};
    Values values = {0};
    values_text(&values, store->gateway);
    pipeline_add(&pipeline, store, &sql_session_begin, &values);
    TRY(pipeline_run(call, store, &pipeline, &result));
    AUTO_ROWS rows = {.result = result, .count = (size_t)PQntuples(result)};
    RowReader reader = row_reader(call, &rows, 0);
    bool sees_past_row_security = row_boolean(&reader);
    const char *user = row_text(&reader);
    (void)row_text(&reader);
    TRY(row_end(call, &reader));
    if (sees_past_row_security) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the user '%s' can see past row security: "
            "it must not be a superuser, have BYPASSRLS or be a member of 'sluice_owner'",
            user);
    }
    return STATUS_OK;
}

/* Notes warnings, for commit_now(). Without a receiver, libpq would print all notices. */
static void
receive_notice(void *argument, const PGresult *notice)
{
    Store *store = argument;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    store->is_warned = store->is_warned || (severity != NULL && strcmp(severity, "WARNING") == 0);
}

static Status
connect_now(Call *call, Store *store)
{
    store->connection = start_connection(store);
    if (store->connection == NULL) {
        return call_fail_memory(call, "a connection to PostgreSQL");
    }
    if (PQstatus(store->connection) == CONNECTION_BAD) {
        return fail_connect(call, store);
    }
    (void)PQsetNoticeReceiver(store->connection, receive_notice, store);
    TRY(make_handshake(call, store));
    if (PQsetnonblocking(store->connection, 1) != 0 || PQenterPipelineMode(store->connection) != 1) {
        return fail_connect(call, store);
    }
    return begin_session(call, store);
}

/* Returns whether the connection still serves. A server that was shut down has sent a message and then the
 * end of the stream, which wait to be read. */
static bool
is_still_up(Store *store)
{
    struct pollfd socket = {.fd = PQsocket(store->connection), .events = POLLIN};
    while (poll(&socket, 1, 0) > 0) {
        if (PQconsumeInput(store->connection) != 1 || PQstatus(store->connection) != CONNECTION_OK) {
            return false;
        }
    }
    return true;
}

Status
store_connect(Call *call, Store *store)
{
    assert(store->transaction == TRANSACTION_NONE);

    if (store->connection != NULL && is_still_up(store)) {
        return STATUS_OK;
    }
    store_disconnect(store);
    if (clock_monotonic_ns() < store->connect_after_ns) {
        return call_fail(call, STATUS_UNAVAILABLE, "PostgreSQL could not be reached a moment ago");
    }
    if (!store->is_probe && pulse_is_silent(clock_monotonic_ns())) {
        return call_fail(call, STATUS_UNAVAILABLE, "PostgreSQL does not answer");
    }
    Status status = connect_now(call, store);
    if (status != STATUS_OK) {
        store_disconnect(store);
        pause_before_next_attempt(store);
        return status;
    }
    store->connect_pause_ns = 0;
    return STATUS_OK;
}

StorePresence
store_ping(const char *conninfo)
{
    const char *const keywords[] = {"connect_timeout", "dbname", NULL};
    const char *const values[] = {"2", conninfo, NULL};
    switch (PQpingParams(keywords, values, 1)) {
    case PQPING_REJECT:
        return STORE_STARTS;
    case PQPING_NO_RESPONSE:
        return STORE_IS_AWAY;
    case PQPING_NO_ATTEMPT:
        return STORE_IS_NOT_NAMED;
    case PQPING_OK:
    default:
        return STORE_SERVES;
    }
}

Status
store_fail_unnamed(Call *call, const char *conninfo)
{
    const char *const keywords[] = {"dbname", NULL};
    const char *const values[] = {conninfo, NULL};
    PGconn *connection = PQconnectStartParams(keywords, values, 1);
    Slice message = slice_from_string(PQerrorMessage(connection)); /* takes NULL, too */
    Slice line = slice_part(message, 0, slice_find(message, '\n'));
    Status status = call_fail(call, STATUS_INVALID_ARGUMENT,
        "the setting 'database' names no PostgreSQL: %.*s (see THE DATABASE in sluice-gateway(8))",
        SLICE_PRINT(line));
    PQfinish(connection);
    return status;
}

static char *
copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memory_new(1, size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

static Store *
new_store(const StoreOptions *options)
{
    AUTO_STORE store = memory_new(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    uint64_t wait_max_ms = options->wait_max_ms == 0 ? WAIT_MAX_MS_DEFAULT : options->wait_max_ms;
    store->wait_max_ns = wait_max_ms * CLOCK_NS_PER_MS;
    store->blobs = options->blobs;
    store->is_probe = options->is_probe;
    store->is_prepared = memory_new(sql_table_count, sizeof *store->is_prepared);
    store->conninfo = copy_text(options->conninfo);
    store->user = copy_text(options->user == NULL ? role_names[options->role] : options->user);
    store->gateway = options->gateway == NULL ? NULL : copy_text(options->gateway);
    bool is_whole = store->is_prepared != NULL && store->conninfo != NULL && store->user != NULL &&
                    (store->gateway != NULL || options->gateway == NULL);
    return is_whole ? TAKE(store) : NULL;
}

Status
store_open(Call *call, const StoreOptions *options, Store **ret_store)
{
    assert(options->conninfo != NULL && (size_t)options->role < COUNT_OF(role_names));

    AUTO_STORE store = new_store(options);
    if (store == NULL) {
        return call_fail_memory(call, "a connection to PostgreSQL");
    }
    TRY(store_connect(call, store));
    *ret_store = TAKE(store);
    return STATUS_OK;
}

void
store_close(Store *store)
{
    if (store == NULL) {
        return;
    }
    if (store->is_prepared != NULL) {
        store_disconnect(store);
    }
    memory_free(store->is_prepared);
    memory_free(store->conninfo);
    memory_free(store->user);
    memory_free(store->gateway);
    memory_free(store);
}
