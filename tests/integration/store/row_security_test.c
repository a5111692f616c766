/* Rules that the database itself enforces, whatever the statements say. */
#include "gateway/domain/tenant.h"
#include "gateway/store/connection.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

/* The tables are read from the catalogue, so that tables of later migrations are checked too. */
static void
every_table_of_tenants_forces_row_security(void **state)
{
    Database *database = *state;
    static const char of_tenants[] = "from pg_class where relnamespace = 'sluice'::regnamespace and relkind "
                                     "in ('r', 'p') and not relispartition and "
                                     "(relname = 'tenants' or exists (select from pg_attribute where "
                                     "attrelid = pg_class.oid and attname = "
                                     "'tenant_id'))";
    char sql[1024];
    (void)snprintf(sql, sizeof sql, "select count(*) >= 16 %s", of_tenants);
    assert_string_equal(database_ask(database, sql), "t");
    (void)snprintf(sql, sizeof sql,
        "select string_agg(relname, ' ') %s and not (relrowsecurity and "
        "relforcerowsecurity)",
        of_tenants);
    assert_string_equal(database_ask(database, sql), "");
    (void)snprintf(sql, sizeof sql,
        "select string_agg(relname, ' ') %s and not exists (select from pg_policy where "
        "polrelid = pg_class.oid and polname = 'own_tenant' and polwithcheck is not null)",
        of_tenants);
    assert_string_equal(database_ask(database, sql), "");
}

static void
every_primary_key_of_tenants_begins_with_the_tenant(void **state)
{
    Database *database = *state;
    assert_string_equal(
        database_ask(database, "select string_agg(indrelid::regclass::text, ' ') from pg_index join "
                               "pg_attribute on attrelid = indrelid and "
                               "attname = 'tenant_id' join pg_class on pg_class.oid = indrelid where "
                               "relnamespace = 'sluice'::regnamespace and "
                               "not relispartition and indisprimary and not attnum = any (indkey)"),
        "");
}

static void
nobody_has_rights_on_a_partition_or_owns_a_table(void **state)
{
    Database *database = *state;
    assert_string_equal(
        database_ask(database, "select count(*) from pg_class, (values ('sluice_app'), ('sluice_queue'), "
                               "('sluice_auth')) as role (name) where "
                               "relispartition and relkind = 'r' and has_table_privilege(role.name, "
                               "pg_class.oid, 'select, insert, update, "
                               "delete, truncate')"),
        "0");
    assert_string_equal(
        database_ask(database,
            "select count(*) from pg_class where relnamespace = 'sluice'::regnamespace and relowner <> "
            "'sluice_owner'::regrole"),
        "0");
    assert_string_equal(database_ask(database, "select count(*) from pg_class, (values ('sluice_app'), "
                                               "('sluice_queue'), ('sluice_auth')) as role (name) where "
                                               "relnamespace = 'sluice'::regnamespace and relkind = 'r' and "
                                               "has_table_privilege(role.name, pg_class.oid, "
                                               "'truncate, references, trigger')"),
        "0");
}

static void
the_auth_role_may_only_find_keys_and_tickets(void **state)
{
    Database *database = *state;
    assert_string_equal(database_ask(database, "select string_agg(proname, ' ' order by proname) from "
                                               "pg_proc where pronamespace = 'sluice'::regnamespace and "
                                               "has_function_privilege('sluice_auth', oid, 'execute')"),
        "find_key find_ticket");
    assert_string_equal(
        database_ask(database,
            "select string_agg(relname, ' ') from pg_class where relnamespace = 'sluice'::regnamespace and "
            "relkind in ('r', "
            "'p', 'v') and has_any_column_privilege('sluice_auth', oid, 'select, insert, update')"),
        "schema_version");
}

static void
no_role_may_make_large_objects(void **state)
{
    Database *database = *state;
    assert_string_equal(
        database_ask(database, "select count(*) from pg_proc, unnest(array['sluice_app', 'sluice_queue', "
                               "'sluice_auth']) as role where pronamespace = 'pg_catalog'::regnamespace and "
                               "(proname like 'lo\\_%' or proname in ('loread', 'lowrite')) and "
                               "has_function_privilege(role, pg_proc.oid, 'execute')"),
        "0");
}

/* Statements without a condition on the tenant, as a mistake might leave them. Their indexes belong to
 * statements that this program does not run. */
static const Statement reading = {.name = "reading", .index = 0, .text = "select count(*) from sessions"};
static const Statement writing = {
    .name = "writing", .index = 1, .text = "update sessions set name = 'stolen'"};
static const Statement moving = {
    .name = "moving", .index = 2, .parameter_count = 1, .text = "update sessions set tenant_id = $1"};

static int64_t
count_sessions(Database *database, TenantId tenant)
{
    AUTO_ROWS rows = {0};
    assert_status(&database->call, STATUS_OK,
        store_query(&database->call, database->app, tenant, &reading, &(Values){0}, &rows));
    RowReader reader = row_reader(&database->call, &rows, 0);
    return row_int64(&reader);
}

static void
a_forgotten_condition_shows_and_changes_nothing_of_others(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    uint64_t changed = 9;
    Values target = {0};
    (void)database_add_session(database, TENANT_DEFAULT);
    assert_int_equal(count_sessions(database, TENANT_DEFAULT), 1);
    assert_int_equal(count_sessions(database, other), 0);
    assert_int_equal(count_sessions(database, NO_TENANT), 0);
    assert_status(
        call, STATUS_OK, store_execute(call, database->app, other, &writing, &(Values){0}, &changed));
    assert_int_equal(changed, 0);
    values_uuid(&target, other.value);
    assert_status(call, STATUS_PERMISSION_DENIED,
        store_execute(call, database->app, TENANT_DEFAULT, &moving, &target, &changed));
}

/* The tenant ends with its transaction: the next user of the connection does not inherit it. */
static void
the_tenant_does_not_outlive_its_transaction(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    (void)database_add_session(database, TENANT_DEFAULT);
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_int_equal(count_sessions(database, TENANT_DEFAULT), 1);
    assert_status(call, STATUS_OK, store_commit(call, database->app));
    assert_int_equal(count_sessions(database, NO_TENANT), 0);
}

static void
the_queue_role_sees_no_sessions_or_blobs(void **state)
{
    Database *database = *state;
    AUTO_ROWS rows = {0};
    assert_status(&database->call, STATUS_PERMISSION_DENIED,
        store_query(&database->call, database->queue, NO_TENANT, &reading, &(Values){0}, &rows));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(every_table_of_tenants_forces_row_security),
        DATABASE_TEST(every_primary_key_of_tenants_begins_with_the_tenant),
        DATABASE_TEST(nobody_has_rights_on_a_partition_or_owns_a_table),
        DATABASE_TEST(the_auth_role_may_only_find_keys_and_tickets),
        DATABASE_TEST(no_role_may_make_large_objects),
        DATABASE_TEST(a_forgotten_condition_shows_and_changes_nothing_of_others),
        DATABASE_TEST(the_tenant_does_not_outlive_its_transaction),
        DATABASE_TEST(the_queue_role_sees_no_sessions_or_blobs),
    };
    return cmocka_run_group_tests_name("gateway/store/row security", tests, NULL, NULL);
}
