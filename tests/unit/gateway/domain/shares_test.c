/* The settlement of a pool's shares by itself: debts, idleness, slots and quotas. */
#include "gateway/domain/shares.h"

#include "tests/support/cmocka_all.h"

enum { FIRST, SECOND, TENANTS };

typedef struct Fixture {
    ShareTenant tenants[TENANTS];
    ShareDemand demands[TENANTS];
    PoolShares pool;
    ShareReport report;
    size_t peers[2];
} Fixture;

/* Two tenants of weights 3 and 1 that want more than the four slots, each at a gateway of its own; the pool
 * has computed without a break. */
static void
begin(Fixture *fixture)
{
    *fixture = (Fixture){
        .tenants = {{.weight = 3, .running_max = 64}, {.weight = 1, .running_max = 64}},
        .demands = {{.tenant = FIRST, .gateway = 0, .waiting_slots = 8, .running = 4, .waiting = 8},
            {.tenant = SECOND, .gateway = 1, .waiting_slots = 8, .running = 4, .waiting = 8}},
        .report = {.elapsed_s = SHARES_PERIOD_MS * 1e-3},
        .peers = {2, 2},
    };
    fixture->pool = (PoolShares){
        .slot_count = 4,
        .service_s = 4 * SHARES_WINDOW_S,
        .tenants = fixture->tenants,
        .tenant_count = TENANTS,
        .demands = fixture->demands,
        .demand_count = TENANTS,
        .gateway_count = 2,
        .peers = fixture->peers,
    };
    for (int tenant = 0; tenant < TENANTS; tenant++) {
        fixture->tenants[tenant].was_waiting = true;
    }
}

static double
settle(Fixture *fixture, size_t gateway)
{
    fixture->report.gateway = gateway;
    return shares_settle(&fixture->pool, &fixture->report);
}

static void
a_debt_is_no_more_than_what_the_pool_computed_in_the_window(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fixture.tenants[SECOND].charged_s = 3600;
    (void)settle(&fixture, 1);
    double debt = fixture.tenants[SECOND].virtual_time - fixture.pool.virtual_time;
    assert_float_equal(debt, 4.0 * SHARES_WINDOW_S / (3 + 1), 1e-6);
}

static void
a_gateway_that_knows_no_worker_cuts_nobodys_debt(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fixture.pool.slot_count = 0; /* as a gateway counts that has just begun */
    fixture.tenants[SECOND].charged_s = 4;
    (void)settle(&fixture, 1);
    double debt = fixture.tenants[SECOND].virtual_time - fixture.pool.virtual_time;
    assert_float_equal(debt, 4, 1e-6);
}

static void
idleness_saves_nothing(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fixture.pool.virtual_time = 100;
    fixture.tenants[FIRST].virtual_time = 100;
    fixture.tenants[SECOND].was_waiting = false; /* and its virtual time is 0 */
    (void)settle(&fixture, 1);
    assert_true(fixture.tenants[SECOND].virtual_time >= 100);
}

static void
slots_follow_the_weights_of_those_who_wait(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    assert_float_equal(settle(&fixture, 0), 3, 1e-6);
    assert_float_equal(settle(&fixture, 1), 1, 1e-6);
}

static void
who_is_behind_gets_the_slots_until_it_is_level(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    /* The first is ahead by a second of the whole pool: more than one round can even out. */
    fixture.tenants[FIRST].virtual_time = 4;
    assert_float_equal(settle(&fixture, 0), 0, 1e-6);
    assert_float_equal(settle(&fixture, 1), 4, 1e-6);
}

static void
slots_that_nobody_wants_are_shared_by_the_gateways(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fixture.demands[FIRST].waiting_slots = 1;
    fixture.demands[SECOND].waiting_slots = 1;
    double slots = settle(&fixture, 0) + settle(&fixture, 1);
    assert_float_equal(slots, 4, 1e-6);
}

/* The first goes by the whole quota of its tenant until it knows of the second. */
static void
what_a_gateway_may_begin_that_knows_of_no_other_is_not_given_to_another(void **state)
{
    (void)state;
    Fixture fixture;
    begin(&fixture);
    fixture.demands[SECOND].tenant = FIRST;
    fixture.peers[0] = 1;
    (void)settle(&fixture, 1);
    assert_int_equal(fixture.demands[SECOND].reserve + fixture.demands[SECOND].granted, 0);
    fixture.peers[0] = 2;
    fixture.demands[FIRST].kept = 64;
    (void)settle(&fixture, 0);
    (void)settle(&fixture, 1);
    assert_int_equal(fixture.demands[SECOND].reserve + fixture.demands[SECOND].granted, 0);
    fixture.demands[FIRST].kept = 4;
    (void)settle(&fixture, 0);
    (void)settle(&fixture, 1);
    assert_int_equal(fixture.demands[SECOND].reserve, 16);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_debt_is_no_more_than_what_the_pool_computed_in_the_window),
        cmocka_unit_test(a_gateway_that_knows_no_worker_cuts_nobodys_debt),
        cmocka_unit_test(idleness_saves_nothing),
        cmocka_unit_test(slots_follow_the_weights_of_those_who_wait),
        cmocka_unit_test(who_is_behind_gets_the_slots_until_it_is_level),
        cmocka_unit_test(slots_that_nobody_wants_are_shared_by_the_gateways),
        cmocka_unit_test(what_a_gateway_may_begin_that_knows_of_no_other_is_not_given_to_another),
    };
    return cmocka_run_group_tests_name("gateway/domain/shares", tests, NULL, NULL);
}
