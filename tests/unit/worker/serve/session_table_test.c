#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "worker/serve/session_table.h"

enum { START_NS = 1000 };
static const uint64_t lease_ns = SESSION_LEASE_S * CLOCK_NS_PER_S;

static void
a_lease_stands_for_an_hour(void **state)
{
    SessionTable *table = session_table_new();
    assert_non_null(table);
    assert_false(session_table_renew(table, SLICE("s"), START_NS));
    assert_int_equal(session_table_put(*state, table, SLICE("s"), START_NS), STATUS_OK);
    assert_true(session_table_renew(table, SLICE("s"), START_NS));
    assert_false(session_table_renew(table, SLICE("other"), START_NS));
    assert_false(session_table_renew(table, SLICE("s"), START_NS + lease_ns));
    session_table_free(table);
}

static void
renewing_moves_the_end(void **state)
{
    SessionTable *table = session_table_new();
    assert_int_equal(session_table_put(*state, table, SLICE("s"), START_NS), STATUS_OK);
    assert_true(session_table_renew(table, SLICE("s"), START_NS + lease_ns - 1));
    assert_true(session_table_renew(table, SLICE("s"), START_NS + lease_ns));
    session_table_free(table);
}

static void
a_lease_that_has_ended_can_be_put_again(void **state)
{
    SessionTable *table = session_table_new();
    assert_int_equal(session_table_put(*state, table, SLICE("s"), START_NS), STATUS_OK);
    assert_false(session_table_renew(table, SLICE("s"), START_NS + 2 * lease_ns));
    assert_int_equal(session_table_put(*state, table, SLICE("s"), START_NS + 2 * lease_ns), STATUS_OK);
    assert_true(session_table_renew(table, SLICE("s"), START_NS + 2 * lease_ns));
    session_table_free(table);
}

static void
a_removed_session_is_gone(void **state)
{
    SessionTable *table = session_table_new();
    assert_int_equal(session_table_put(*state, table, SLICE("s"), START_NS), STATUS_OK);
    session_table_remove(table, SLICE("s"));
    session_table_remove(table, SLICE("never was"));
    assert_false(session_table_renew(table, SLICE("s"), START_NS));
    session_table_free(table);
}

static void
a_full_table_drops_what_has_ended_and_refuses_otherwise(void **state)
{
    Call *call = *state;
    SessionTable *table = session_table_new();
    for (uint32_t index = 0; index < SESSION_COUNT_MAX; index++) {
        assert_int_equal(session_table_put(call, table, slice_of(&index, sizeof index), START_NS), STATUS_OK);
    }
    assert_int_equal(session_table_put(call, table, SLICE("more"), START_NS), STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(call->error.message, "65536 sessions have leases already");
    uint32_t known = 7;
    assert_int_equal(session_table_put(call, table, slice_of(&known, sizeof known), START_NS), STATUS_OK);
    assert_int_equal(session_table_put(call, table, SLICE("more"), START_NS + lease_ns), STATUS_OK);
    assert_false(session_table_renew(table, slice_of(&known, sizeof known), START_NS));
    session_table_free(table);
}

static void
without_memory_nothing_is_kept_and_nothing_leaks(void **state)
{
    for (size_t at = 1; at < 8; at++) {
        fail_alloc_count = 0;
        fail_alloc_at = at;
        SessionTable *table = session_table_new();
        Status status = table == NULL ? STATUS_RESOURCE_EXHAUSTED
                                      : session_table_put(*state, table, SLICE("s"), START_NS);
        fail_alloc_at = 0;
        if (table != NULL) {
            assert_true(session_table_renew(table, SLICE("s"), START_NS) == (status == STATUS_OK));
        }
        session_table_free(table);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_lease_stands_for_an_hour),
        CALL_TEST(renewing_moves_the_end),
        CALL_TEST(a_lease_that_has_ended_can_be_put_again),
        CALL_TEST(a_removed_session_is_gone),
        CALL_TEST(a_full_table_drops_what_has_ended_and_refuses_otherwise),
        CALL_TEST(without_memory_nothing_is_kept_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("serve/session_table", tests, NULL, NULL);
}
