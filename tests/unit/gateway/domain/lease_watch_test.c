/* When a worker's lease has lapsed, in the eyes of one gateway. */
#include "gateway/domain/lease_watch.h"

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"

enum { LEASE_MS = 15000, LOOK_MS = 1000 };

/* Two clocks that go on together, and a gateway that looks once a second. */
typedef struct Fixture {
    LeaseWatch watch;
    uint64_t now_ns;
    uint64_t database_us;
} Fixture;

static Fixture
begin(void)
{
    Fixture fixture = {.now_ns = CLOCK_NS_PER_S, .database_us = UINT64_C(1000000000000)};
    lease_watch_note(&fixture.watch, fixture.now_ns, fixture.database_us);
    return fixture;
}

static void
pass(Fixture *fixture, uint64_t time_ms)
{
    fixture->now_ns += time_ms * CLOCK_NS_PER_MS;
    fixture->database_us += time_ms * 1000;
}

static void
watch_for(Fixture *fixture, uint64_t time_ms)
{
    for (uint64_t passed_ms = 0; passed_ms < time_ms; passed_ms += LOOK_MS) {
        pass(fixture, LOOK_MS);
        lease_watch_note(&fixture->watch, fixture->now_ns, fixture->database_us);
    }
}

static uint64_t
left_ms(const Fixture *fixture, uint64_t renewed_us)
{
    return lease_left_ms(&fixture->watch, renewed_us, LEASE_MS);
}

static void
a_lease_lapses_when_it_was_not_renewed_for_its_time(void **state)
{
    (void)state;
    Fixture fixture = begin();
    uint64_t renewed_us = fixture.database_us;
    watch_for(&fixture, LEASE_MS - LOOK_MS);
    assert_int_equal(left_ms(&fixture, renewed_us), LOOK_MS);
    watch_for(&fixture, LOOK_MS);
    assert_int_equal(left_ms(&fixture, renewed_us), 0);
}

static void
a_renewed_lease_has_its_whole_time_again(void **state)
{
    (void)state;
    Fixture fixture = begin();
    watch_for(&fixture, UINT64_C(10) * LEASE_MS);
    assert_int_equal(left_ms(&fixture, fixture.database_us), LEASE_MS);
}

static void
a_gateway_that_has_just_come_judges_nobody(void **state)
{
    (void)state;
    Fixture fixture = begin();
    uint64_t renewed_us = fixture.database_us - UINT64_C(3600000000);
    assert_int_equal(left_ms(&fixture, renewed_us), LEASE_MS);
    watch_for(&fixture, LEASE_MS);
    assert_int_equal(left_ms(&fixture, renewed_us), 0);
}

static void
an_outage_of_the_database_ends_no_lease(void **state)
{
    (void)state;
    Fixture fixture = begin();
    watch_for(&fixture, LEASE_MS);
    uint64_t renewed_us = fixture.database_us;
    lease_watch_break(&fixture.watch);
    pass(&fixture, UINT64_C(2) * LEASE_MS);
    lease_watch_note(&fixture.watch, fixture.now_ns, fixture.database_us);
    assert_int_equal(left_ms(&fixture, renewed_us), LEASE_MS);
    watch_for(&fixture, LEASE_MS);
    assert_int_equal(left_ms(&fixture, renewed_us), 0);
}

static void
a_gateway_that_stood_still_begins_anew(void **state)
{
    (void)state;
    Fixture fixture = begin();
    watch_for(&fixture, LEASE_MS);
    uint64_t renewed_us = fixture.database_us;
    pass(&fixture, LEASE_WATCH_GAP_MS + 1);
    lease_watch_note(&fixture.watch, fixture.now_ns, fixture.database_us);
    assert_int_equal(left_ms(&fixture, renewed_us), LEASE_MS);
}

static void
a_short_pause_is_no_gap(void **state)
{
    (void)state;
    Fixture fixture = begin();
    uint64_t renewed_us = fixture.database_us;
    watch_for(&fixture, LEASE_MS - LOOK_MS);
    pass(&fixture, LEASE_WATCH_GAP_MS);
    lease_watch_note(&fixture.watch, fixture.now_ns, fixture.database_us);
    assert_int_equal(left_ms(&fixture, renewed_us), 0);
}

static void
a_database_whose_clock_leaps_ahead_ends_no_lease(void **state)
{
    (void)state;
    Fixture fixture = begin();
    watch_for(&fixture, LEASE_MS);
    uint64_t renewed_us = fixture.database_us;
    fixture.database_us += UINT64_C(3600000000);
    watch_for(&fixture, LOOK_MS);
    assert_int_equal(left_ms(&fixture, renewed_us), LEASE_MS);
}

static void
a_lease_that_was_renewed_before_the_clock_was_set_back_lapses_after_its_time(void **state)
{
    (void)state;
    Fixture fixture = begin();
    watch_for(&fixture, LEASE_MS);
    uint64_t renewed_us = fixture.database_us;
    fixture.database_us -= UINT64_C(7200000000);
    watch_for(&fixture, LOOK_MS);
    assert_int_equal(left_ms(&fixture, renewed_us), LEASE_MS);
    watch_for(&fixture, LEASE_MS);
    assert_int_equal(left_ms(&fixture, renewed_us), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_lapses_when_it_was_not_renewed_for_its_time),
        cmocka_unit_test(a_renewed_lease_has_its_whole_time_again),
        cmocka_unit_test(a_gateway_that_has_just_come_judges_nobody),
        cmocka_unit_test(an_outage_of_the_database_ends_no_lease),
        cmocka_unit_test(a_gateway_that_stood_still_begins_anew),
        cmocka_unit_test(a_short_pause_is_no_gap),
        cmocka_unit_test(a_database_whose_clock_leaps_ahead_ends_no_lease),
        cmocka_unit_test(a_lease_that_was_renewed_before_the_clock_was_set_back_lapses_after_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
