#include "gateway/store/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/domain/tenant.h"
#include "gateway/store/sessions.h"
#include "shared/base/clock.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static const Statement sleeping = {
    .name = "sleeping", .index = 0, .parameter_count = 1, .text = "select pg_sleep($1)::text"};

static Session
example(void)
{
    return (Session){.id = {uuid_new()}, .name = "s", .options = "{}"};
}

/* Ends the server's side of the role's one connection, as a restart or an operator would. */
static void
kill_backends(Database *database, const char *role)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
        "select count(pg_terminate_backend(pid, 20000)) from pg_stat_activity where datname = "
        "current_database() and "
        "usename = '%s'",
        role);
    assert_string_equal(database_ask(database, sql), "1");
}

/* Begins a transaction that has created a session, which it returns. */
static Session
begin_with_session(Database *database)
{
    Call *call = &database->call;
    Session session = example();
    Session stored;
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(call, STATUS_OK, sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
    return session;
}

static void
a_transaction_that_is_not_committed_leaves_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = example();
    Session stored;
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    {
        AUTO_TRANSACTION transaction = database->app;
        assert_status(
            call, STATUS_OK, sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
    }
    assert_false(store_is_in_transaction(database->app));
    assert_status(
        call, STATUS_NOT_FOUND, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
}

static void
a_committed_transaction_stays(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = begin_with_session(database);
    Session stored;
    assert_status(call, STATUS_OK, store_commit(call, database->app));
    assert_status(call, STATUS_OK, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
}

static void
an_empty_transaction_asks_the_database_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    kill_backends(database, "sluice_app");
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(call, STATUS_OK, store_commit(call, database->app));
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    store_rollback(database->app);
    assert_false(store_is_in_transaction(database->app));
}

static void
a_failed_statement_spoils_its_transaction_only(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = example();
    Session stored;
    assert_status(call, STATUS_OK, sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(
        call, STATUS_ALREADY_EXISTS, sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
    assert_status(call, STATUS_ABORTED, store_commit(call, database->app));
    assert_string_equal(call->error.message, "the transaction had failed and was rolled back");
    assert_status(call, STATUS_OK, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
}

static void
a_statement_stops_at_the_deadline_and_the_connection_stays(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t begin_ns = clock_monotonic_ns();
    AUTO_ROWS rows = {0};
    AUTO_ROWS again = {0};
    Values values = {0};
    Values none = {0};
    const char *pid_before =
        "select pid::text from pg_stat_activity where usename = 'sluice_app' and datname = "
        "current_database()";
    char pid[32];
    (void)snprintf(pid, sizeof pid, "%s", database_ask(database, pid_before));
    values_double(&values, 60);
    values_double(&none, 0);
    call->deadline_ns = begin_ns + 200 * CLOCK_NS_PER_MS;
    assert_status(call, STATUS_DEADLINE_EXCEEDED,
        store_query(call, database->app, TENANT_DEFAULT, &sleeping, &values, &rows));
    assert_true(clock_monotonic_ns() - begin_ns < 50 * CLOCK_NS_PER_S); /* it would sleep for a minute */
    call->deadline_ns = 0;
    assert_status(
        call, STATUS_OK, store_query(call, database->app, TENANT_DEFAULT, &sleeping, &none, &again));
    assert_string_equal(database_ask(database, pid_before), pid);
}

static void
a_call_that_was_cancelled_sends_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session stored;
    call_cancel(call);
    assert_status(
        call, STATUS_CANCELLED, sessions_find(call, database->app, TENANT_DEFAULT, example().id, &stored));
    call->is_cancelled = false;
}

static void
a_connection_that_ended_while_idle_is_made_again(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = example();
    Session stored;
    kill_backends(database, "sluice_app");
    assert_status(call, STATUS_OK, sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
}

static void
a_connection_lost_in_a_transaction_is_unavailable_until_its_end(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = begin_with_session(database);
    Session stored;
    kill_backends(database, "sluice_app");
    assert_status(
        call, STATUS_UNAVAILABLE, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
    assert_status(
        call, STATUS_UNAVAILABLE, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
    assert_status(call, STATUS_UNAVAILABLE, store_commit(call, database->app));
    assert_status(
        call, STATUS_NOT_FOUND, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
}

static void
a_commit_that_a_lost_connection_prevented_has_not_happened(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = begin_with_session(database);
    Session stored;
    kill_backends(database, "sluice_app");
    assert_status(call, STATUS_UNAVAILABLE, store_commit(call, database->app));
    assert_string_equal(
        call->error.message, "the connection to PostgreSQL was lost during a commit, which has not happened");
    assert_status(
        call, STATUS_NOT_FOUND, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
}

/* The commit takes longer than the client waits for its answer. */
static void
a_commit_whose_reply_is_lost_is_looked_up(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session stored;
    (void)database_ask(database,
        "create function linger() returns trigger language plpgsql as $$begin perform "
        "pg_sleep(2); return null; end$$; create constraint trigger late after insert "
        "on sessions deferrable initially deferred for each row execute function "
        "linger()");
    Session session = begin_with_session(database);
    Call hasty = {.arena = call->arena, .deadline_ns = clock_monotonic_ns() + CLOCK_NS_PER_S};
    assert_status(call, STATUS_OK, store_commit(&hasty, database->app));
    assert_true(clock_monotonic_ns() > hasty.deadline_ns);
    assert_status(call, STATUS_OK, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
}

static void
a_commit_that_nobody_can_be_asked_about_is_unknown(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    char sql[160];
    Session session = begin_with_session(database);
    Session stored;
    (void)snprintf(sql, sizeof sql, "alter database \"%s\" connection limit 0", database->name);
    (void)database_ask(database, sql);
    kill_backends(database, "sluice_app");
    assert_status(call, STATUS_UNKNOWN, store_commit(call, database->app));
    (void)snprintf(sql, sizeof sql, "alter database \"%s\" connection limit -1", database->name);
    (void)database_ask(database, sql);
    AWAIT(sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored) == STATUS_NOT_FOUND);
}

/* PostgreSQL warns like this when a commit stops waiting for its synchronous standby; a deferred trigger
 * plays that part. */
static void
a_commit_with_a_warning_is_unknown(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = example();
    Session stored;
    (void)database_ask(database, "create function warn() returns trigger language plpgsql as $$begin raise "
                                 "warning 'not replicated'; return "
                                 "null; end$$; create constraint trigger late after insert on sessions "
                                 "deferrable initially deferred for each "
                                 "row execute function warn()");
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(call, STATUS_OK, sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
    assert_status(call, STATUS_UNKNOWN, store_commit(call, database->app));
    assert_string_equal(call->error.message, "the commit may not have reached the standby");
    assert_status(call, STATUS_OK, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &stored));
}

/* Nobody listens in this directory. */
static void
a_database_that_is_away_is_unavailable(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StoreOptions options = {.conninfo = "host=/nonexistent dbname=x", .role = STORE_ROLE_APP};
    Store *store = NULL;
    assert_status(call, STATUS_UNAVAILABLE, store_open(call, &options, &store));
    assert_null(store);
    assert_non_null(strstr(call->error.message, "PostgreSQL cannot be reached: "));
}

/* A listener that never answers: the handshake must end by itself. */
static void
a_server_that_says_nothing_costs_the_deadline_only(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    char directory[] = "/tmp/store_test.XXXXXX";
    char conninfo[128];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_non_null(mkdtemp(directory));
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", directory);
    (void)snprintf(conninfo, sizeof conninfo, "host=%s dbname=x", directory);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);

    StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_APP};
    Store *store = NULL;
    uint64_t begin_ns = clock_monotonic_ns();
    call->deadline_ns = begin_ns + 100 * CLOCK_NS_PER_MS;
    assert_status(call, STATUS_DEADLINE_EXCEEDED, store_open(call, &options, &store));
    assert_true(clock_monotonic_ns() - begin_ns < 60 * CLOCK_NS_PER_S);
    (void)close(listener);
    (void)unlink(address.sun_path);
    (void)rmdir(directory);
}

static void
a_user_who_sees_past_row_security_is_refused(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StoreOptions options = {.conninfo = database->conninfo, .role = STORE_ROLE_APP, .user = "postgres"};
    Store *store = NULL;
    assert_status(call, STATUS_FAILED_PRECONDITION, store_open(call, &options, &store));
    assert_null(store);
    assert_string_equal(call->error.message, "the user 'postgres' can see past row security: it must not be "
                                             "a superuser, have BYPASSRLS or be a member "
                                             "of 'sluice_owner'");
}

static void
statements_are_prepared_once_a_connection(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session stored;
    for (int turn = 0; turn < 3; turn++) {
        assert_status(call, STATUS_NOT_FOUND,
            sessions_find(call, database->app, TENANT_DEFAULT, example().id, &stored));
    }
    static const Statement counting = {
        .name = "counting", .index = 1, .text = "select count(*) from pg_prepared_statements"};
    AUTO_ROWS rows = {0};
    assert_status(
        call, STATUS_OK, store_query(call, database->app, TENANT_DEFAULT, &counting, &(Values){0}, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    /* session_begin, context_set, session_find and counting. */
    assert_int_equal(row_int64(&reader), 4);
    assert_status(call, STATUS_OK, row_end(call, &reader));
}

/* libpq's buffers grow with the largest value and never shrink: only two connections of a process keep such
 * ones, and each goes on with its next statement. */
static void
two_connections_at_most_keep_wide_buffers(void **state)
{
    enum { STORES = 4, APPS_OWN = 1, WIDE = 2 };
    static const Statement widening = {
        .name = "widening", .index = 0, .parameter_count = 1, .text = "select repeat('x', $1)"};
    static const char backends[] =
        "select count(*) from pg_stat_activity where datname = current_database() and usename = 'sluice_app'";
    Database *database = *state;
    Call *call = &database->call;
    StoreOptions options = {.conninfo = database->conninfo, .role = STORE_ROLE_APP};
    Store *stores[STORES];
    for (int turn = 0; turn < 2 * STORES; turn++) {
        Rows rows = {0};
        Values values = {0};
        values_text(&values, "3000000");
        if (turn < STORES) {
            assert_status(call, STATUS_OK, store_open(call, &options, &stores[turn]));
        }
        assert_status(call, STATUS_OK,
            store_query(call, stores[turn % STORES], TENANT_DEFAULT, &widening, &values, &rows));
        assert_int_equal(rows.count, 1);
        rows_done(&rows);
    }
    AWAIT(atoi(database_ask(database, backends)) == APPS_OWN + WIDE);
    for (int index = 0; index < STORES; index++) {
        store_close(stores[index]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_transaction_that_is_not_committed_leaves_nothing),
        DATABASE_TEST(a_committed_transaction_stays),
        DATABASE_TEST(an_empty_transaction_asks_the_database_nothing),
        DATABASE_TEST(a_failed_statement_spoils_its_transaction_only),
        DATABASE_TEST(a_statement_stops_at_the_deadline_and_the_connection_stays),
        DATABASE_TEST(a_call_that_was_cancelled_sends_nothing),
        DATABASE_TEST(a_connection_that_ended_while_idle_is_made_again),
        DATABASE_TEST(a_connection_lost_in_a_transaction_is_unavailable_until_its_end),
        DATABASE_TEST(a_commit_that_a_lost_connection_prevented_has_not_happened),
        DATABASE_TEST(a_commit_whose_reply_is_lost_is_looked_up),
        DATABASE_TEST(a_commit_that_nobody_can_be_asked_about_is_unknown),
        DATABASE_TEST(a_commit_with_a_warning_is_unknown),
        DATABASE_TEST(a_database_that_is_away_is_unavailable),
        DATABASE_TEST(a_server_that_says_nothing_costs_the_deadline_only),
        DATABASE_TEST(a_user_who_sees_past_row_security_is_refused),
        DATABASE_TEST(statements_are_prepared_once_a_connection),
        DATABASE_TEST(two_connections_at_most_keep_wide_buffers),
    };
    return cmocka_run_group_tests_name("gateway/store/connection", tests, NULL, NULL);
}
