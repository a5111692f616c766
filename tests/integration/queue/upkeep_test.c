#include "gateway/queue/upkeep.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/blobs.h"
#include "gateway/store/idempotency.h"
#include "tests/support/await.h"
#include "tests/support/database.h"

static UpkeepOptions
options_of(const Database *database, const char *owner)
{
    return (UpkeepOptions){
        .conninfo = database->conninfo,
        .owner = owner,
        .history_days = 2,
        .blob_age_ms = UINT64_C(3600) * 1000,
    };
}

static void
run_upkeep_until(Database *database, const char *query, const char *expected)
{
    Upkeep *upkeep = NULL;
    UpkeepOptions options = options_of(database, "gw_1");
    assert_status(&database->call, STATUS_OK, upkeep_new(&database->call, &options, &upkeep));
    AWAIT(database_says(database, query, expected));
    upkeep_free(upkeep);
}

static void
put_blob(Database *database, TenantId tenant, const char *text)
{
    Sha256 digest;
    Slice bytes = slice_from_string(text);
    sha256(bytes, &digest);
    assert_status(
        &database->call, STATUS_OK, blobs_put(&database->call, database->app, tenant, &digest, bytes));
}

static void
take_key(Database *database, TenantId tenant, const char *key)
{
    Idempotency idempotency;
    IdempotencyRequest request = {.key = key, .held_ms = 1000};
    assert_status(&database->call, STATUS_OK,
        idempotency_begin(&database->call, database->app, tenant, &request, &idempotency));
}

static void
what_is_over_goes_and_the_rest_stays_for_every_tenant(void **state)
{
    Database *database = *state;
    const TenantId tenants[] = {TENANT_DEFAULT, database_add_tenant(database, "other")};
    for (size_t index = 0; index < 2; index++) {
        take_key(database, tenants[index], "old");
        take_key(database, tenants[index], "new");
        put_blob(database, tenants[index], "old");
        put_blob(database, tenants[index], "new");
        put_blob(database, tenants[index], "output of long ago");
        put_blob(database, tenants[index], "output of today");
    }
    (void)database_ask(
        database, "update idempotency_keys set expires_at = now() - interval '1 s' where key = 'old'");
    (void)database_ask(database,
        "insert into step_outputs (tenant_id, step_id, position, name, dtype, shape, "
        "sha256, created_at) select tenant_id, tenant_id, row_number() over (), 'y', "
        "'string', '{}', sha256, now() - interval '1 day' * (case "
        "when sha256 = sha256('output of today') then 1 else 3 end) "
        "from blobs where sha256 <> sha256('old') and sha256 <> sha256('new')");
    (void)database_ask(
        database, "update blobs set used_at = now() - interval '2 h' where sha256 <> sha256('new')");
    run_upkeep_until(database, "select count(*) from blobs", "4");
    assert_string_equal(
        database_ask(database, "select string_agg(key, ',') from idempotency_keys"), "new,new");
    assert_string_equal(
        database_ask(database, "select count(*) from step_outputs where sha256 = sha256('output of today')"),
        "2");
    assert_string_equal(database_ask(database, "select count(*) from step_outputs"), "2");
    assert_string_equal(database_ask(database, "select count(*) from blobs where sha256 in "
                                               "(sha256('new'), sha256('output of today'))"),
        "4");
}

static void
workers_that_nobody_has_seen_as_long_as_the_history_are_forgotten(void **state)
{
    Database *database = *state;
    (void)database_ask(database, "insert into workers (name, task, address, incarnation, last_seen_at) "
                                 "values ('old', 0, 'a', '1', now() - interval '49 h'), "
                                 "('new', 1, 'a', '1', now() - interval '47 h')");
    run_upkeep_until(database, "select count(*) from workers", "1");
    assert_string_equal(database_ask(database, "select name from workers"), "new");
}

static void
many_tenants_are_gone_through_batch_by_batch(void **state)
{
    Database *database = *state;
    (void)database_ask(database, "insert into tenants (id, name) select gen_random_uuid(), 't' || number "
                                 "from generate_series(1, 150) as number");
    (void)database_ask(database,
        "insert into idempotency_keys (tenant_id, key, request_sha256, owner, held_until, expires_at) "
        "select id, 'old', sha256('x'), id, now(), now() - interval '1 s' from tenants");
    run_upkeep_until(database, "select count(*) from idempotency_keys", "0");
}

static void
of_two_gateways_one_does_it(void **state)
{
    Database *database = *state;
    Upkeep *first = NULL;
    Upkeep *second = NULL;
    UpkeepOptions one = options_of(database, "gw_1");
    UpkeepOptions two = options_of(database, "gw_2");
    assert_status(&database->call, STATUS_OK, upkeep_new(&database->call, &one, &first));
    AWAIT(database_says(database, "select owner from leases where name = 'upkeep'", "gw_1"));
    assert_status(&database->call, STATUS_OK, upkeep_new(&database->call, &two, &second));
    AWAIT(database_says(database,
        "select count(*) > 1 from pg_stat_activity where datname = current_database() and "
        "usename = 'sluice_queue'",
        "t"));
    upkeep_free(second);
    assert_string_equal(database_ask(database, "select owner from leases where name = 'upkeep'"), "gw_1");
    upkeep_free(first);
}

static void
a_database_that_cannot_be_reached_is_tried_again_and_does_not_keep_the_end_waiting(void **state)
{
    Database *database = *state;
    Upkeep *upkeep = NULL;
    UpkeepOptions options = options_of(database, "gw_1");
    options.conninfo = "host=127.0.0.1 port=1 dbname=none";
    assert_status(&database->call, STATUS_OK, upkeep_new(&database->call, &options, &upkeep));
    upkeep_free(upkeep);
    upkeep_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(what_is_over_goes_and_the_rest_stays_for_every_tenant),
        DATABASE_TEST(workers_that_nobody_has_seen_as_long_as_the_history_are_forgotten),
        DATABASE_TEST(many_tenants_are_gone_through_batch_by_batch),
        DATABASE_TEST(of_two_gateways_one_does_it),
        DATABASE_TEST(a_database_that_cannot_be_reached_is_tried_again_and_does_not_keep_the_end_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
