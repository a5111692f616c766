#include "gateway/store/keys.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/tenants.h"
#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static const Slice pepper = {.data = "pepper", .size = 6};

static ApiKey
create(Database *database, TenantId tenant, const KeyInfo *info)
{
    ApiKey key = api_key_new();
    assert_status(
        &database->call, STATUS_OK, keys_create(&database->call, database->app, tenant, &key, pepper, info));
    return key;
}

static bool
is_valid(Database *database, const ApiKey *key, Slice with, KeyRecord *ret_record)
{
    KeyCheck check = {.key = *key};
    assert_status(&database->call, STATUS_OK, keys_verify(&database->call, database->auth, with, &check, 1));
    *ret_record = check.record;
    return check.is_valid;
}

static void
a_key_gives_its_tenant_and_scopes(void **state)
{
    Database *database = *state;
    TenantId tenant = database_add_tenant(database, "acme");
    uint64_t expires_us = clock_wall_us() + 1000000000;
    KeyInfo info = {.name = "ci", .scopes = "steps:write graphs:read", .expires_us = expires_us};
    ApiKey key = create(database, tenant, &info);
    KeyRecord record;
    assert_true(is_valid(database, &key, pepper, &record));
    assert_true(uuid_equal(record.tenant.value, tenant.value));
    assert_string_equal(record.tenant_name, "acme");
    assert_string_equal(record.scopes, "steps:write graphs:read");
    assert_int_equal(record.expires_us, expires_us);
}

static void
a_key_is_not_valid_whatever_is_wrong(void **state)
{
    Database *database = *state;
    KeyInfo info = {.name = "", .scopes = ""};
    KeyInfo expired = {.name = "", .scopes = "", .expires_us = 1};
    ApiKey good = create(database, TENANT_DEFAULT, &info);
    ApiKey old = create(database, TENANT_DEFAULT, &expired);
    ApiKey unknown = api_key_new();
    ApiKey wrong_secret = unknown;
    KeyRecord record;
    memcpy(wrong_secret.id, good.id, sizeof good.id);
    const ApiKey *const bad[] = {&old, &unknown, &wrong_secret};
    for (size_t index = 0; index < COUNT_OF(bad); index++) {
        assert_false(is_valid(database, bad[index], pepper, &record));
    }
    assert_false(is_valid(database, &good, SLICE("other"), &record));
    assert_true(is_valid(database, &good, pepper, &record));
    assert_string_equal(record.scopes, "");
    assert_int_equal(record.expires_us, 0);
}

static void
many_keys_are_told_apart_in_one_statement(void **state)
{
    Database *database = *state;
    KeyInfo first = {.name = "", .scopes = "first"};
    KeyInfo second = {.name = "", .scopes = "second"};
    ApiKey one = create(database, TENANT_DEFAULT, &first);
    ApiKey two = create(database, database_add_tenant(database, "acme"), &second);
    ApiKey forged = api_key_new();
    memcpy(forged.id, one.id, sizeof one.id);
    KeyCheck checks[] = {{.key = two}, {.key = forged}, {.key = api_key_new()}, {.key = one}, {.key = two}};
    assert_status(&database->call, STATUS_OK,
        keys_verify(&database->call, database->auth, pepper, checks, COUNT_OF(checks)));
    static const bool are_valid[] = {true, false, false, true, true};
    for (size_t index = 0; index < COUNT_OF(checks); index++) {
        assert_int_equal(checks[index].is_valid, are_valid[index]);
    }
    assert_string_equal(checks[0].record.tenant_name, "acme");
    assert_string_equal(checks[3].record.scopes, "first");
    assert_string_equal(checks[4].record.scopes, "second");
}

static void
a_revoked_key_is_no_key(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    KeyInfo info = {.name = "laptop", .scopes = "all"};
    ApiKey key = create(database, TENANT_DEFAULT, &info);
    TenantId other = database_add_tenant(database, "other");
    KeyRecord record;
    KeyList list;
    assert_status(call, STATUS_NOT_FOUND, keys_revoke(call, database->app, other, key.id));
    assert_true(is_valid(database, &key, pepper, &record));
    assert_status(call, STATUS_OK, keys_revoke(call, database->app, TENANT_DEFAULT, key.id));
    assert_status(call, STATUS_OK, keys_revoke(call, database->app, TENANT_DEFAULT, key.id));
    assert_false(is_valid(database, &key, pepper, &record));
    assert_status(call, STATUS_OK, keys_list(call, database->app, TENANT_DEFAULT, &list));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].name, "laptop");
    assert_true(list.items[0].revoked_us >= list.items[0].created_us);
    assert_status(call, STATUS_OK, keys_list(call, database->app, other, &list));
    assert_int_equal(list.count, 0);
}

static void
the_keys_of_a_disabled_tenant_are_no_keys(void **state)
{
    Database *database = *state;
    KeyInfo info = {.name = "", .scopes = ""};
    ApiKey key = create(database, TENANT_DEFAULT, &info);
    KeyRecord record;
    (void)database_ask(database, "update tenants set disabled_at = now()");
    assert_false(is_valid(database, &key, pepper, &record));
}

static void
the_secret_is_nowhere_in_the_database(void **state)
{
    Database *database = *state;
    KeyInfo info = {.name = "", .scopes = ""};
    ApiKey key = create(database, TENANT_DEFAULT, &info);
    const char *row = database_ask(database, "select api_keys::text from api_keys");
    assert_non_null(strstr(row, key.id));
    assert_null(strstr(row, key.secret));
}

static void
the_auth_role_may_do_nothing_else(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    KeyList keys;
    TenantList tenants;
    KeyCheck check = {.key = {.id = "0123456789AB"}};
    assert_status(call, STATUS_PERMISSION_DENIED, keys_list(call, database->auth, TENANT_DEFAULT, &keys));
    assert_status(call, STATUS_PERMISSION_DENIED, tenants_list(call, database->auth, NULL, &tenants));
    assert_status(call, STATUS_PERMISSION_DENIED, keys_verify(call, database->app, pepper, &check, 1));
    assert_status(call, STATUS_PERMISSION_DENIED, keys_verify(call, database->queue, pepper, &check, 1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_key_gives_its_tenant_and_scopes),
        DATABASE_TEST(a_key_is_not_valid_whatever_is_wrong),
        DATABASE_TEST(many_keys_are_told_apart_in_one_statement),
        DATABASE_TEST(a_revoked_key_is_no_key),
        DATABASE_TEST(the_keys_of_a_disabled_tenant_are_no_keys),
        DATABASE_TEST(the_secret_is_nowhere_in_the_database),
        DATABASE_TEST(the_auth_role_may_do_nothing_else),
    };
    return cmocka_run_group_tests_name("gateway/store/keys", tests, NULL, NULL);
}
