/* A private database for one test: cloned from the migrated template, dropped afterwards. Tests that use it
 * run under tools/with_postgres. */
#pragma once

#include <libpq-fe.h>

#include "gateway/store/connection.h"
#include "gateway/store/queue.h"

typedef struct Database {
    char name[64];
    char conninfo[80]; /* the host comes from PGHOST */
    PGconn *admin;     /* a superuser in this database, for what a test wants to see past row security */
    Arena *arena;
    Call call;
    Store *app;
    Store *queue;
    Store *auth;
} Database;

/* cmocka's setup and teardown: *state is a Database with three open stores. */
int database_setup(void **state);
int database_teardown(void **state);

/* The same, from an empty database instead of the template; no store is open. */
int database_setup_empty(void **state);

/* Runs a statement as the superuser and gives the first column of the first row, "" for none. The text is
 * valid until the next call. Fails the test when the statement does. */
const char *database_ask(Database *database, const char *sql);

/* Returns whether the statement gives this text, for AWAIT. */
bool database_says(Database *database, const char *sql, const char *wanted);

/* A new tenant with default quotas. */
TenantId database_add_tenant(Database *database, const char *name);

/* A new session of that tenant. */
SessionId database_add_session(Database *database, TenantId tenant);

#define DATABASE_TEST(test) cmocka_unit_test_setup_teardown(test, database_setup, database_teardown)
#define EMPTY_DATABASE_TEST(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, database_setup_empty, database_teardown)

/* A step for queue_enqueue(), of no particular graph; may be attempted twice, within a minute. */
StepNew database_step(SessionId session);
