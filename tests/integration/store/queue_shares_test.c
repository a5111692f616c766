/* The steps that a claim takes: what the gateway wants of each tenant, fair shares among priorities, the
 * oldest first, within quotas. A share may be one step off, since shares are whole numbers. */
#include "gateway/domain/tenant.h"
#include "gateway/store/queue.h"
#include "gateway/store/tenants.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

enum { LEASE_MS = 30000 };

static void
enqueue_many(Database *database, TenantId tenant, int priority, int count)
{
    SessionId session = database_add_session(database, tenant);
    for (int index = 0; index < count; index++) {
        StepNew step = database_step(session);
        step.priority = priority;
        assert_status(
            &database->call, STATUS_OK, queue_enqueue(&database->call, database->app, tenant, &step));
    }
}

static int
count_of(const StepList *steps, TenantId tenant)
{
    int count = 0;
    for (size_t index = 0; index < steps->count; index++) {
        count += uuid_equal(steps->items[index].tenant.value, tenant.value);
    }
    return count;
}

/* The claim says only how many steps of each tenant come; their order is admission's (gateway/admission). */
static void
a_gateway_gets_of_each_tenant_what_it_wants(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId second = database_add_tenant(database, "second");
    TenantId third = database_add_tenant(database, "third");
    const TenantId tenants[] = {TENANT_DEFAULT, second};
    const size_t counts[] = {7, 0};
    QueueWants wants = {.tenants = tenants, .counts = counts, .tenant_count = 2, .others = 3, .room = 100};
    StepList steps;
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 20);
    enqueue_many(database, second, STEP_PRIORITY_NORMAL, 20);
    enqueue_many(database, third, STEP_PRIORITY_NORMAL, 20);
    assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", &wants, LEASE_MS, &steps));
    assert_int_equal(count_of(&steps, TENANT_DEFAULT), 7);
    assert_int_equal(count_of(&steps, second), 0);
    assert_int_equal(count_of(&steps, third), 3);
}

/* The second tenant is far ahead of the others; the third, which the pool does not know, is not. */
static void
when_room_is_short_tenants_that_are_behind_come_first(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId second = database_add_tenant(database, "second");
    TenantId third = database_add_tenant(database, "third");
    QueueWants wants = {.others = 4, .room = 6};
    StepList steps;
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 10);
    enqueue_many(database, second, STEP_PRIORITY_NORMAL, 10);
    enqueue_many(database, third, STEP_PRIORITY_NORMAL, 10);
    (void)database_ask(database,
        "insert into pool_tenants (tenant_id, virtual_time) select id, case name when 'second' "
        "then 9 else 1 end from tenants where name <> 'third'");
    assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", &wants, LEASE_MS, &steps));
    assert_int_equal(count_of(&steps, third), 4);
    assert_int_equal(count_of(&steps, TENANT_DEFAULT), 2);
    assert_int_equal(count_of(&steps, second), 0);
}

/* Classes have the weights 1, 3 and 6: the low one is served too. */
static void
priorities_share_and_nothing_starves(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepList steps;
    int counts[3] = {0};
    for (int priority = STEP_PRIORITY_LOW; priority <= STEP_PRIORITY_HIGH; priority++) {
        enqueue_many(database, TENANT_DEFAULT, priority, 30);
    }
    assert_status(
        call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", WANTS(40), LEASE_MS, &steps));
    assert_int_equal(steps.count, 40);
    for (size_t index = 0; index < steps.count; index++) {
        counts[steps.items[index].priority]++;
    }
    assert_in_range(counts[STEP_PRIORITY_LOW], 3, 5);
    assert_in_range(counts[STEP_PRIORITY_NORMAL], 11, 13);
    assert_in_range(counts[STEP_PRIORITY_HIGH], 23, 25);
}

/* A priority that was idle shares from now on; it gets no burst for the time it did not use. */
static void
idleness_of_a_priority_saves_no_credit(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepList steps;
    int counts[3] = {0};
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_LOW, 60);
    assert_status(
        call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", WANTS(30), LEASE_MS, &steps));
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 30);
    assert_status(
        call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", WANTS(20), LEASE_MS, &steps));
    for (size_t index = 0; index < steps.count; index++) {
        counts[steps.items[index].priority]++;
    }
    assert_in_range(counts[STEP_PRIORITY_LOW], 4, 6);
    assert_in_range(counts[STEP_PRIORITY_NORMAL], 14, 16);
}

static void
inside_a_tenant_the_oldest_goes_first(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepList steps;
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 10);
    assert_status(
        call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", WANTS(10), LEASE_MS, &steps));
    assert_int_equal(steps.count, 10);
    for (size_t index = 1; index < steps.count; index++) {
        assert_true(steps.items[index - 1].created_us <= steps.items[index].created_us);
    }
}

static void
the_quota_of_running_steps_holds_claims_back(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Quota quota;
    StepList steps;
    assert_status(call, STATUS_OK, quotas_find(call, database->app, TENANT_DEFAULT, &quota));
    quota.running_steps_max = 1;
    assert_status(call, STATUS_OK, quotas_update(call, database->app, TENANT_DEFAULT, &quota));
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 2);
    assert_status(
        call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", WANTS(10), LEASE_MS, &steps));
    assert_int_equal(steps.count, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_gateway_gets_of_each_tenant_what_it_wants),
        DATABASE_TEST(when_room_is_short_tenants_that_are_behind_come_first),
        DATABASE_TEST(priorities_share_and_nothing_starves),
        DATABASE_TEST(idleness_of_a_priority_saves_no_credit),
        DATABASE_TEST(inside_a_tenant_the_oldest_goes_first),
        DATABASE_TEST(the_quota_of_running_steps_holds_claims_back),
    };
    return cmocka_run_group_tests_name("gateway/store/queue shares", tests, NULL, NULL);
}
