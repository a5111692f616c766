#include "tests/support/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/store/sessions.h"
#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"

static int
admin_execute(const char *sql)
{
    PGconn *admin = PQconnectdb("dbname=postgres");
    PGresult *result = PQexec(admin, sql);
    int status = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : -1;
    if (status != 0) {
        (void)fprintf(stderr, "%s: %s", sql, PQerrorMessage(admin));
    }
    PQclear(result);
    PQfinish(admin);
    return status;
}

static Database *
create(const char *template_name)
{
    static int count;
    char sql[160];
    if (getenv("PGHOST") == NULL) {
        (void)fprintf(stderr, "run under tools/with_postgres\n");
        return NULL;
    }
    Database *database = memory_new(1, sizeof *database);
    if (database == NULL) {
        return NULL;
    }
    (void)snprintf(database->name, sizeof database->name, "test_%d_%d", (int)getpid(), ++count);
    (void)snprintf(database->conninfo, sizeof database->conninfo, "dbname=%s", database->name);
    (void)snprintf(sql, sizeof sql, "create database %s template %s", database->name, template_name);
    if (admin_execute(sql) != 0) {
        memory_free(database);
        return NULL;
    }
    database->arena = arena_new((size_t)256 << 20);
    database->call.arena = database->arena;
    database->admin = PQconnectdb(database->conninfo);
    return database;
}

static Status
open_store(Database *database, StoreRole role, Store **ret_store)
{
    StoreOptions options = {.conninfo = database->conninfo, .role = role};
    return store_open(&database->call, &options, ret_store);
}

int
database_setup(void **state)
{
    Database *database = create("template_app");
    if (database == NULL) {
        return -1;
    }
    *state = database;
    if (open_store(database, STORE_ROLE_APP, &database->app) != STATUS_OK ||
        open_store(database, STORE_ROLE_QUEUE, &database->queue) != STATUS_OK ||
        open_store(database, STORE_ROLE_AUTH, &database->auth) != STATUS_OK) {
        (void)fprintf(stderr, "%s\n", database->call.error.message);
        return -1;
    }
    (void)database_ask(database, "select set_config('search_path', 'sluice', false)");
    return 0;
}

int
database_setup_empty(void **state)
{
    *state = create("template0");
    return *state == NULL ? -1 : 0;
}

int
database_teardown(void **state)
{
    Database *database = *state;
    char sql[160];
    (void)snprintf(sql, sizeof sql, "drop database %s with (force)", database->name);
    store_close(database->app);
    store_close(database->queue);
    store_close(database->auth);
    PQfinish(database->admin);
    arena_free(database->arena);
    memory_free(database);
    return admin_execute(sql);
}

const char *
database_ask(Database *database, const char *sql)
{
    static char text[1024];
    PGresult *result = PQexec(database->admin, sql);
    ExecStatusType status = PQresultStatus(result);
    text[0] = '\0';
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fail_msg("%s: %s", sql, PQerrorMessage(database->admin));
    }
    if (PQntuples(result) > 0) {
        (void)snprintf(text, sizeof text, "%s", PQgetvalue(result, 0, 0));
    }
    PQclear(result);
    return text;
}

bool
database_says(Database *database, const char *sql, const char *wanted)
{
    return strcmp(database_ask(database, sql), wanted) == 0;
}

TenantId
database_add_tenant(Database *database, const char *name)
{
    TenantId tenant = {uuid_new()};
    char id[UUID_TEXT_SIZE];
    char sql[256];
    uuid_to_text(tenant.value, id);
    (void)snprintf(sql, sizeof sql,
        "insert into sluice.tenants (id, name) values ('%s', '%s'); insert into sluice.quotas (tenant_id) "
        "values ('%s')",
        id, name, id);
    (void)database_ask(database, sql);
    return tenant;
}

SessionId
database_add_session(Database *database, TenantId tenant)
{
    Session session = {.id = {uuid_new()}, .name = "", .options = "{}"};
    Session stored;
    assert_status(&database->call, STATUS_OK,
        sessions_create(&database->call, database->app, tenant, &session, &stored));
    return stored.id;
}

StepNew
database_step(SessionId session)
{
    return (StepNew){.id = {uuid_new()},
        .session = session,
        .graph = {uuid_new()},
        .priority = STEP_PRIORITY_NORMAL,
        .request = "{\"fetches\": [\"y:0\"]}",
        .attempts_max = 2,
        .timeout_ms = 60000};
}
