/* The rounds of gateways, as PostgreSQL keeps them between one and the next. */
#include "gateway/admission/round.h"
#include "gateway/domain/tenant.h"
#include "gateway/store/pool.h"
#include "gateway/store/tenants.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

enum { LEASE_MS = 60000, SLOTS = 4 };

/* Makes a round in which the gateway tells what one tenant uses, or with NULL of no tenant. */
static AdmissionGrant
make_round(Database *database, const char *owner, const AdmissionUse *use)
{
    Call *call = &database->call;
    AdmissionReport report = {.tenants = without_const(use), .tenant_count = use == NULL ? 0 : 1};
    TenantId reported = use == NULL ? (TenantId){0} : use->id;
    AdmissionRound round;
    AdmissionGrant grant;
    PoolMember member = {owner, LEASE_MS, &reported, report.tenant_count};
    assert_status(
        call, STATUS_OK, pool_round_begin(call, database->queue, &member, &round.pool, &round.report));
    round.pool.slot_count = SLOTS;
    assert_true(admission_round(call->arena, &round, &report, &grant));
    assert_status(
        call, STATUS_OK, pool_round_end(call, database->queue, owner, &round.pool, round.report.gateway));
    return grant;
}

static AdmissionUse
use_of(TenantId tenant, double slots)
{
    return (AdmissionUse){
        .id = tenant, .held_slots = 1, .waiting_slots = slots, .running = 1, .waiting = (int64_t)slots};
}

static void
a_gateway_alone_has_all_slots_and_the_whole_quota(void **state)
{
    Database *database = *state;
    AdmissionUse use = use_of(TENANT_DEFAULT, 9);
    AdmissionGrant grant = make_round(database, "gateway-1", &use);
    assert_float_equal(grant.slots, SLOTS, 1e-6);
    assert_int_equal(grant.gateway_count, 1);
    assert_int_equal(grant.tenant_count, 1);
    assert_int_equal(grant.tenants[0].running_max, 64);
    assert_float_equal(grant.tenants[0].weight, 1, 0);
}

static void
two_gateways_divide_the_slots_by_what_their_tenants_weigh(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId heavy = database_add_tenant(database, "heavy");
    Quota quota;
    assert_status(call, STATUS_OK, quotas_find(call, database->app, heavy, &quota));
    quota.weight = 3;
    assert_status(call, STATUS_OK, quotas_update(call, database->app, heavy, &quota));
    AdmissionUse light_use = use_of(TENANT_DEFAULT, 50);
    AdmissionUse heavy_use = use_of(heavy, 50);
    (void)make_round(database, "gateway-1", &light_use);
    AdmissionGrant second = make_round(database, "gateway-2", &heavy_use);
    AdmissionGrant first = make_round(database, "gateway-1", &light_use);
    assert_int_equal(first.gateway_count, 2);
    assert_float_equal(first.slots, 1, 1e-6);
    assert_float_equal(second.slots, 3, 1e-6);
}

static void
what_is_charged_at_one_gateway_counts_at_the_other(void **state)
{
    Database *database = *state;
    TenantId other = database_add_tenant(database, "other");
    AdmissionUse use = use_of(TENANT_DEFAULT, 50);
    AdmissionUse rival = use_of(other, 50);
    (void)make_round(database, "gateway-2", &rival);
    use.charged_s = 0.5;
    (void)make_round(database, "gateway-1", &use);
    use.charged_s = 0;
    AdmissionGrant grant = make_round(database, "gateway-2", &use);
    assert_float_equal(grant.tenants[0].virtual_time, 0.5, 1e-6);
    assert_float_equal(grant.virtual_time, 0.5, 1e-6); /* the rival waits nowhere any more */
}

static void
a_gateway_that_left_or_fell_silent_is_forgotten(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    AdmissionUse use = use_of(TENANT_DEFAULT, 50);
    (void)make_round(database, "gateway-1", &use);
    (void)make_round(database, "gateway-2", &use);
    assert_int_equal(make_round(database, "gateway-1", &use).gateway_count, 2);
    assert_status(call, STATUS_OK, pool_leave(call, database->queue, "gateway-2"));
    assert_int_equal(make_round(database, "gateway-1", &use).gateway_count, 1);
    (void)make_round(database, "gateway-3", &use);
    (void)database_ask(database,
        "update pool_gateways set held_until = now() - interval '1 second' where owner = 'gateway-3'");
    AdmissionGrant grant = make_round(database, "gateway-1", &use);
    assert_int_equal(grant.gateway_count, 1);
    assert_float_equal(grant.slots, SLOTS, 1e-6);
    assert_string_equal(database_ask(database, "select count(*) from pool_demands"), "1");
}

static void
a_silent_gateway_is_forgotten_although_the_clock_was_set_back(void **state)
{
    Database *database = *state;
    AdmissionUse use = use_of(TENANT_DEFAULT, 50);
    (void)make_round(database, "gateway-2", &use);
    (void)database_ask(database, "update pool_gateways set held_until = now() + interval '1 hour'");
    AdmissionGrant grant = make_round(database, "gateway-1", &use);
    assert_int_equal(grant.gateway_count, 1);
    assert_float_equal(grant.slots, SLOTS, 1e-6);
}

static void
a_tenant_that_is_deleted_ends_no_round(void **state)
{
    Database *database = *state;
    TenantId gone = database_add_tenant(database, "gone");
    AdmissionUse use = use_of(gone, 1);
    (void)make_round(database, "gateway-1", &use);
    (void)database_ask(database, "delete from tenants where name = 'gone'");
    AdmissionGrant grant = make_round(database, "gateway-1", &use);
    assert_int_equal(grant.tenant_count, 0);
    assert_float_equal(grant.slots, SLOTS, 1e-6);
}

static void
a_pool_that_was_lost_is_made_anew(void **state)
{
    Database *database = *state;
    AdmissionUse use = use_of(TENANT_DEFAULT, 1);
    (void)make_round(database, "gateway-1", &use);
    (void)database_ask(database, "truncate pool, pool_gateways, pool_tenants, pool_demands");
    assert_float_equal(make_round(database, "gateway-1", &use).slots, SLOTS, 1e-6);
    (void)make_round(database, "gateway-1", NULL);
    assert_string_equal(database_ask(database, "select count(*) from pool_demands"), "0");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_gateway_alone_has_all_slots_and_the_whole_quota),
        DATABASE_TEST(two_gateways_divide_the_slots_by_what_their_tenants_weigh),
        DATABASE_TEST(what_is_charged_at_one_gateway_counts_at_the_other),
        DATABASE_TEST(a_gateway_that_left_or_fell_silent_is_forgotten),
        DATABASE_TEST(a_silent_gateway_is_forgotten_although_the_clock_was_set_back),
        DATABASE_TEST(a_tenant_that_is_deleted_ends_no_round),
        DATABASE_TEST(a_pool_that_was_lost_is_made_anew),
    };
    return cmocka_run_group_tests_name("gateway/store/pool", tests, NULL, NULL);
}
