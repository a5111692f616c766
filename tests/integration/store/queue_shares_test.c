/* The steps that a claim takes: fair shares among tenants and priorities, the oldest first, within quotas. A
 * share may be one step off, since shares are whole numbers. */
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

/* Three tenants have the weights 1, 1 and 2; the first has queued most. 40 claims are shared 10, 10 and
 * 20. */
static void
tenants_share_by_weight_whatever_they_queue(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId second = database_add_tenant(database, "second");
    TenantId heavy = database_add_tenant(database, "heavy");
    Quota quota;
    StepList steps;
    int counts[3] = {0};
    assert_status(call, STATUS_OK, quotas_find(call, database->app, heavy, &quota));
    quota.weight = 2;
    assert_status(call, STATUS_OK, quotas_update(call, database->app, heavy, &quota));
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 100);
    enqueue_many(database, second, STEP_PRIORITY_NORMAL, 30);
    enqueue_many(database, heavy, STEP_PRIORITY_NORMAL, 30);
    for (int turn = 0; turn < 2; turn++) {
        assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", 20, LEASE_MS, &steps));
        assert_int_equal(steps.count, 20);
        for (size_t index = 0; index < steps.count; index++) {
            Uuid tenant = steps.items[index].tenant.value;
            counts[0] += uuid_equal(tenant, TENANT_DEFAULT.value);
            counts[1] += uuid_equal(tenant, second.value);
            counts[2] += uuid_equal(tenant, heavy.value);
        }
    }
    assert_in_range(counts[0], 9, 11);
    assert_in_range(counts[1], 9, 11);
    assert_in_range(counts[2], 19, 21);
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
    assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", 40, LEASE_MS, &steps));
    assert_int_equal(steps.count, 40);
    for (size_t index = 0; index < steps.count; index++) {
        counts[steps.items[index].priority]++;
    }
    assert_in_range(counts[STEP_PRIORITY_LOW], 3, 5);
    assert_in_range(counts[STEP_PRIORITY_NORMAL], 11, 13);
    assert_in_range(counts[STEP_PRIORITY_HIGH], 23, 25);
}

/* A tenant that was idle shares from now on; it gets no burst for the time it did not use. */
static void
idleness_saves_no_credit(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId idle = database_add_tenant(database, "idle");
    StepList steps;
    int of_idle = 0;
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 60);
    assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", 40, LEASE_MS, &steps));
    enqueue_many(database, idle, STEP_PRIORITY_NORMAL, 20);
    assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", 10, LEASE_MS, &steps));
    for (size_t index = 0; index < steps.count; index++) {
        of_idle += uuid_equal(steps.items[index].tenant.value, idle.value);
    }
    assert_in_range(of_idle, 4, 6);
}

static void
inside_a_tenant_the_oldest_goes_first(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StepList steps;
    enqueue_many(database, TENANT_DEFAULT, STEP_PRIORITY_NORMAL, 10);
    assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", 10, LEASE_MS, &steps));
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
    assert_status(call, STATUS_OK, queue_claim(call, database->queue, "gateway-1", 10, LEASE_MS, &steps));
    assert_int_equal(steps.count, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(tenants_share_by_weight_whatever_they_queue),
        DATABASE_TEST(priorities_share_and_nothing_starves),
        DATABASE_TEST(idleness_saves_no_credit),
        DATABASE_TEST(inside_a_tenant_the_oldest_goes_first),
        DATABASE_TEST(the_quota_of_running_steps_holds_claims_back),
    };
    return cmocka_run_group_tests_name("gateway/store/queue shares", tests, NULL, NULL);
}
