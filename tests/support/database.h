/* A private database for one test: cloned from the migrated template, dropped afterwards. Tests that use
 * it run under tools/with_postgres. */
#pragma once

#include <libpq-fe.h>

#include "gateway/store/connection.h"
#include "gateway/store/queue.h"

typedef struct Database {
    char name[64];
    char conninfo[80]; /* without a host: that comes from PGHOST */
    PGconn *admin;     /* a superuser in this database, who sees past row security */
    Arena *arena;
    Call call;
    Store *app;
    Store *queue;
    Store *auth;
} Database;

/* Set up and tear down a test for cmocka: *state is a Database with three open stores. */
int database_setup(void **state);
int database_teardown(void **state);

/* Sets up an empty database instead, with no open store. */
int database_setup_empty(void **state);

/* Runs a statement as the superuser and returns the first column of the first row, "" for none. The text
 * is valid until the next call. Fails the test when the statement fails. */
const char *database_ask(Database *database, const char *sql);

/* Returns whether the statement's result is this text, for AWAIT. */
bool database_says(Database *database, const char *sql, const char *wanted);

/* Adds a tenant with default quotas. */
TenantId database_add_tenant(Database *database, const char *name);

/* Adds a session of that tenant. */
SessionId database_add_session(Database *database, TenantId tenant);

#define DATABASE_TEST(test) cmocka_unit_test_setup_teardown(test, database_setup, database_teardown)
#define EMPTY_DATABASE_TEST(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, database_setup_empty, database_teardown)

/* Wants as many steps, of whatever tenants. */
#define WANTS(count) (&(QueueWants){.others = (count), .room = (count)})

/* A step for queue_enqueue(), of no particular graph; may be attempted twice, within a minute. */
StepNew database_step(SessionId session);
