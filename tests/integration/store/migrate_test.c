#include "gateway/store/migrate.h"

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static Status
open_and_check(Database *database)
{
    Call *call = &database->call;
    StoreOptions options = {.conninfo = database->conninfo, .role = STORE_ROLE_APP};
    AUTO_STORE store = NULL;
    TRY(store_open(call, &options, &store));
    return migrate_check(call, store);
}

static void
an_empty_database_is_migrated_once(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    size_t applied = 0;
    assert_status(call, STATUS_FAILED_PRECONDITION, open_and_check(database));
    assert_status(call, STATUS_OK, migrate_apply(call, database->conninfo, &applied));
    assert_int_equal(applied, migration_table_count);
    assert_status(call, STATUS_OK, open_and_check(database));
    assert_status(call, STATUS_OK, migrate_apply(call, database->conninfo, &applied));
    assert_int_equal(applied, 0);
}

static void
versions_count_from_one_without_gap(void **state)
{
    (void)state;
    assert_true(migration_table_count > 0);
    for (size_t index = 0; index < migration_table_count; index++) {
        assert_int_equal(migration_table[index].version, index + 1);
    }
}

/* The template was migrated by psql from the files; the texts in the program must be the same bytes. */
static void
the_files_and_the_embedded_texts_are_the_same(void **state)
{
    Database *database = *state;
    assert_status(&database->call, STATUS_OK, migrate_check(&database->call, database->app));
}

static void
a_schema_that_is_newer_is_refused(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    size_t applied = 7;
    (void)database_ask(database,
        "insert into schema_version (version, name, checksum) values (9999, '9999_new', "
        "decode(repeat('00', 32), 'hex'))");
    assert_status(call, STATUS_FAILED_PRECONDITION, migrate_check(call, database->app));
    assert_string_equal(call->error.message,
        "the database has migration '9999_new', which this program does not know: it is too old");
    assert_status(call, STATUS_FAILED_PRECONDITION, migrate_apply(call, database->conninfo, &applied));
    assert_int_equal(applied, 7);
}

/* Two neighbouring releases run side by side when the later one's migration only adds. */
static void
a_newer_schema_that_only_adds_is_used(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    size_t applied = 7;
    char sql[256];
    assert_status(call, STATUS_OK, migrate_apply(call, database->conninfo, &applied));
    (void)snprintf(sql, sizeof sql,
        "insert into sluice.schema_version (version, name, checksum, usable_from) values (9999, '9999_new', "
        "decode(repeat('00', 32), 'hex'), %zu)",
        migration_table_count);
    (void)database_ask(database, sql);
    assert_status(call, STATUS_OK, open_and_check(database));
    assert_status(call, STATUS_OK, migrate_apply(call, database->conninfo, &applied));
    assert_int_equal(applied, 0);
    (void)database_ask(
        database, "update sluice.schema_version set usable_from = usable_from + 1 where version = 9999");
    assert_status(call, STATUS_FAILED_PRECONDITION, open_and_check(database));
}

static void
a_migration_says_from_which_version_it_can_be_used(void **state)
{
    (void)state;
    assert_int_equal(
        migration_usable_from(&(Migration){.text = "-- Adds.\n-- usable from 17\nselect 1;"}), 17);
    assert_int_equal(migration_usable_from(&(Migration){.text = "select 1;"}), 0);
}

static void
a_schema_that_is_older_is_refused(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    (void)database_ask(database, "delete from schema_version where version > 1");
    assert_status(call, STATUS_FAILED_PRECONDITION, migrate_check(call, database->app));
    assert_string_equal(
        call->error.message, "the database lacks migration '0002_tenants': run 'sluice-gateway migrate'");
}

static void
a_migration_that_was_edited_is_refused(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    (void)database_ask(
        database, "update schema_version set checksum = decode(repeat('00', 32), 'hex') where version = 1");
    assert_status(call, STATUS_FAILED_PRECONDITION, migrate_check(call, database->app));
    assert_string_equal(call->error.message,
        "the database's migration 1, '0001_roles', is not this program's migration 1, '0001_roles'");
}

static void
a_migration_that_fails_leaves_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    size_t applied = 0;
    (void)database_ask(database, "create schema sluice");
    assert_status(call, STATUS_INTERNAL, migrate_apply(call, database->conninfo, &applied));
    assert_string_equal(call->error.message, "0001_roles failed: schema \"sluice\" already exists");
    (void)database_ask(database, "drop schema sluice");
    assert_status(call, STATUS_OK, migrate_apply(call, database->conninfo, &applied));
}

static void
a_second_migration_waits_for_the_first(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    size_t applied = 0;
    (void)database_ask(database, "select pg_advisory_lock(hashtextextended('sluice.migrate', 0))");
    call->deadline_ns = clock_monotonic_ns() + 200 * CLOCK_NS_PER_MS;
    assert_status(call, STATUS_DEADLINE_EXCEEDED, migrate_apply(call, database->conninfo, &applied));
    (void)database_ask(database, "select pg_advisory_unlock_all()");
    call->deadline_ns = 0;
    assert_status(call, STATUS_OK, migrate_apply(call, database->conninfo, &applied));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_count_from_one_without_gap),
        EMPTY_DATABASE_TEST(an_empty_database_is_migrated_once),
        EMPTY_DATABASE_TEST(a_migration_that_fails_leaves_nothing),
        EMPTY_DATABASE_TEST(a_second_migration_waits_for_the_first),
        DATABASE_TEST(the_files_and_the_embedded_texts_are_the_same),
        DATABASE_TEST(a_schema_that_is_newer_is_refused),
        EMPTY_DATABASE_TEST(a_newer_schema_that_only_adds_is_used),
        cmocka_unit_test(a_migration_says_from_which_version_it_can_be_used),
        DATABASE_TEST(a_schema_that_is_older_is_refused),
        DATABASE_TEST(a_migration_that_was_edited_is_refused),
    };
    return cmocka_run_group_tests_name("gateway/store/migrate", tests, NULL, NULL);
}
