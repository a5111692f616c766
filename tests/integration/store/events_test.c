#include "gateway/store/events.h"

#include "gateway/domain/tenant.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static int64_t
append(Database *database, TenantId tenant, Uuid subject)
{
    const Event event = {.kind = "step.succeeded", .subject = subject, .data = "{\"n\": 1}"};
    int64_t sequence = 0;
    assert_status(
        &database->call, STATUS_OK, events_append(&database->call, database->app, tenant, &event, &sequence));
    return sequence;
}

static void
each_tenant_counts_its_own_events(void **state)
{
    Database *const database = *state;
    Call *const call = &database->call;
    const TenantId other = database_add_tenant(database, "other");
    const Uuid subject = uuid_new();
    EventList list;
    assert_int_equal(append(database, TENANT_DEFAULT, (Uuid){{0}}), 1);
    assert_int_equal(append(database, TENANT_DEFAULT, subject), 2);
    assert_int_equal(append(database, other, subject), 1);
    assert_int_equal(append(database, TENANT_DEFAULT, (Uuid){{0}}), 3);
    assert_status(call, STATUS_OK, events_list(call, database->app, TENANT_DEFAULT, 1, (Uuid){{0}}, &list));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].sequence, 2);
    assert_true(uuid_equal(list.items[0].subject, subject));
    assert_string_equal(list.items[0].kind, "step.succeeded");
    assert_string_equal(list.items[0].data, "{\"n\": 1}");
    assert_status(call, STATUS_OK, events_list(call, database->app, TENANT_DEFAULT, 0, subject, &list));
    assert_int_equal(list.count, 1);
    assert_status(call, STATUS_OK, events_list(call, database->app, other, 0, (Uuid){{0}}, &list));
    assert_int_equal(list.count, 1);
}

static void
a_rolled_back_event_leaves_no_gap(void **state)
{
    Database *const database = *state;
    assert_status(&database->call, STATUS_OK, store_begin(&database->call, database->app, TENANT_DEFAULT));
    assert_int_equal(append(database, TENANT_DEFAULT, (Uuid){{0}}), 1);
    store_rollback(database->app);
    assert_int_equal(append(database, TENANT_DEFAULT, (Uuid){{0}}), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(each_tenant_counts_its_own_events),
        DATABASE_TEST(a_rolled_back_event_leaves_no_gap),
    };
    return cmocka_run_group_tests_name("gateway/store/events", tests, NULL, NULL);
}
