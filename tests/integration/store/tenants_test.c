#include "gateway/store/tenants.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static void
a_new_tenant_has_default_quotas(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId id = {uuid_new()};
    TenantList list;
    Quota quota;
    assert_status(call, STATUS_OK, tenants_create(call, database->app, id, "acme"));
    assert_status(call, STATUS_OK, tenants_list(call, database->queue, "acme", &list));
    assert_int_equal(list.count, 1);
    assert_true(uuid_equal(list.items[0].id.value, id.value));
    assert_false(list.items[0].is_disabled);
    assert_status(call, STATUS_OK, quotas_find(call, database->app, id, &quota));
    assert_true(quota.weight == 1.0 && quota.running_steps_max == 64);
}

static void
the_default_tenant_is_there_from_the_start(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantList list;
    Quota quota;
    assert_status(call, STATUS_OK, tenants_list(call, database->queue, NULL, &list));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].name, "default");
    assert_true(uuid_equal(list.items[0].id.value, TENANT_DEFAULT.value));
    assert_status(call, STATUS_OK, quotas_find(call, database->app, TENANT_DEFAULT, &quota));
}

static void
names_are_unique_and_of_a_strict_form(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId id = {uuid_new()};
    static const char *const bad[] = {"", "A", "-a", "a-", "a b", "a_b", "é",
        "0123456789012345678901234567890123456789012345678901234567890123"};
    for (size_t index = 0; index < COUNT_OF(bad); index++) {
        assert_status(call, STATUS_INVALID_ARGUMENT, tenants_create(call, database->app, id, bad[index]));
    }
    assert_status(call, STATUS_ALREADY_EXISTS, tenants_create(call, database->app, id, "default"));
}

static void
a_request_path_sees_its_own_tenant_only(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantList list;
    Quota quota;
    (void)database_add_tenant(database, "other");
    assert_status(call, STATUS_OK, tenants_list(call, database->app, NULL, &list));
    assert_int_equal(list.count, 0);
    assert_status(call, STATUS_NOT_FOUND, quotas_find(call, database->app, (TenantId){uuid_new()}, &quota));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_new_tenant_has_default_quotas),
        DATABASE_TEST(the_default_tenant_is_there_from_the_start),
        DATABASE_TEST(names_are_unique_and_of_a_strict_form),
        DATABASE_TEST(a_request_path_sees_its_own_tenant_only),
    };
    return cmocka_run_group_tests_name("gateway/store/tenants", tests, NULL, NULL);
}
