#include "gateway/http/tenant_memory.h"

#include "tests/support/call_fixture.h"

enum { LIMIT = 1000 };

static const TenantId tenants[] = {{{{1}}}, {{{2}}}, {{{3}}}};
static TenantMemory *memory;
static Loop *loop;
static int granted_count;

static void
count_granted(MemoryClaim *claim)
{
    assert_non_null(claim->memory);
    granted_count++;
}

static MemoryClaim
claim_of(size_t tenant)
{
    MemoryClaim claim = {.granted = count_granted};
    assert_true(memory_claim_open(&claim, memory, tenants[tenant], loop));
    return claim;
}

static int
set_up(void **state)
{
    Call call = {0};
    (void)state;
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    memory = tenant_memory_new(LIMIT);
    granted_count = 0;
    return memory == NULL;
}

static int
tear_down(void **state)
{
    (void)state;
    assert_int_equal(tenant_memory_held(memory), 0);
    tenant_memory_free(memory);
    loop_free(loop);
    return 0;
}

static void
a_tenant_gets_as_much_as_stays_free(void **state)
{
    (void)state;
    MemoryClaim claims[] = {claim_of(0), claim_of(1), claim_of(2)};
    assert_int_equal(memory_claim_take(&claims[0], 400), MEMORY_ROOM_TAKEN);
    assert_int_equal(memory_claim_take(&claims[0], 101), MEMORY_ROOM_LATER);
    assert_int_equal(memory_claim_take(&claims[0], 100), MEMORY_ROOM_TAKEN);
    assert_int_equal(memory_claim_take(&claims[1], 251), MEMORY_ROOM_LATER);
    assert_int_equal(memory_claim_take(&claims[1], 250), MEMORY_ROOM_TAKEN);
    assert_int_equal(memory_claim_take(&claims[2], 125), MEMORY_ROOM_TAKEN);
    assert_int_equal(tenant_memory_held(memory), 875);
    for (size_t index = 0; index < COUNT_OF(claims); index++) {
        memory_claim_close(&claims[index]);
    }
}

static void
what_no_tenant_can_get_is_refused_at_once(void **state)
{
    (void)state;
    MemoryClaim claim = claim_of(0);
    assert_int_equal(tenant_memory_most(memory), LIMIT / 2);
    assert_int_equal(memory_claim_await(&claim, LIMIT / 2 + 1), MEMORY_ROOM_NEVER);
    assert_int_equal(memory_claim_await(&claim, LIMIT / 2), MEMORY_ROOM_TAKEN);
    memory_claim_close(&claim);
}

static void
a_claim_waits_for_room_and_is_told_on_its_loop(void **state)
{
    (void)state;
    MemoryClaim first = claim_of(0);
    MemoryClaim second = claim_of(0);
    MemoryClaim third = claim_of(0);
    MemoryClaim other = claim_of(1);
    assert_int_equal(memory_claim_take(&first, 500), MEMORY_ROOM_TAKEN);
    assert_int_equal(memory_claim_await(&second, 200), MEMORY_ROOM_LATER);
    assert_int_equal(memory_claim_take(&other, 100), MEMORY_ROOM_TAKEN);
    memory_claim_give(&first, 100);
    loop_turn(loop, 0);
    assert_int_equal(granted_count, 0);
    assert_int_equal(memory_claim_take(&third, 10), MEMORY_ROOM_LATER); /* it would overtake its own tenant */
    memory_claim_give(&first, 400);
    assert_int_equal(granted_count, 0);
    loop_turn(loop, 0);
    assert_int_equal(granted_count, 1);
    assert_int_equal(second.held, 200);
    memory_claim_close(&first);
    memory_claim_close(&second);
    memory_claim_close(&third);
    memory_claim_close(&other);
}

/* A part that was split off belongs to the same tenant, and outlives the claim. */
static void
a_part_of_a_claim_goes_on_without_it(void **state)
{
    (void)state;
    MemoryClaim first = claim_of(0);
    MemoryClaim second = claim_of(0);
    MemoryClaim part = {0};
    assert_int_equal(memory_claim_take(&first, 400), MEMORY_ROOM_TAKEN);
    memory_claim_split(&first, 300, loop, &part);
    assert_int_equal(first.held, 100);
    assert_int_equal(part.held, 300);
    assert_int_equal(tenant_memory_held(memory), 400);
    assert_int_equal(memory_claim_take(&second, 101), MEMORY_ROOM_LATER);
    memory_claim_close(&first);
    assert_int_equal(tenant_memory_held(memory), 300);
    assert_int_equal(memory_claim_await(&second, 300), MEMORY_ROOM_LATER);
    memory_claim_close(&part);
    loop_turn(loop, 0);
    assert_int_equal(granted_count, 1);
    memory_claim_close(&second);
}

/* The wait ends when the other claim is closed, and that may need a little more before. */
static void
a_claim_that_is_waited_for_gets_more(void **state)
{
    (void)state;
    MemoryClaim first = claim_of(0);
    MemoryClaim second = claim_of(0);
    assert_int_equal(memory_claim_take(&first, 300), MEMORY_ROOM_TAKEN);
    assert_int_equal(memory_claim_await(&second, 300), MEMORY_ROOM_LATER);
    assert_int_equal(memory_claim_await(&first, 50), MEMORY_ROOM_TAKEN);
    assert_false(memory_claim_widen(&first, 50));
    memory_claim_close(&first);
    loop_turn(loop, 0);
    assert_int_equal(granted_count, 1);
    memory_claim_close(&second);
}

/* A claim is closed while it waits, and when the word that it has room is on its way. */
static void
a_wait_can_be_given_up_at_any_time(void **state)
{
    (void)state;
    for (int is_granted = 0; is_granted <= 1; is_granted++) {
        MemoryClaim first = claim_of(0);
        MemoryClaim second = claim_of(0);
        assert_int_equal(memory_claim_take(&first, 500), MEMORY_ROOM_TAKEN);
        assert_int_equal(memory_claim_await(&second, 200), MEMORY_ROOM_LATER);
        if (is_granted) {
            memory_claim_close(&first);
        }
        memory_claim_close(&second);
        memory_claim_close(&first);
        loop_turn(loop, 0);
        assert_int_equal(granted_count, 0);
        assert_int_equal(tenant_memory_held(memory), 0);
    }
}

static void
wide_windows_get_an_eighth(void **state)
{
    (void)state;
    MemoryClaim first = claim_of(0);
    MemoryClaim second = claim_of(1);
    assert_true(memory_claim_widen(&first, 100));
    assert_false(memory_claim_widen(&second, 26));
    assert_true(memory_claim_widen(&second, 25));
    memory_claim_close(&first);
    assert_true(memory_claim_widen(&second, 100));
    memory_claim_close(&second);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tenant_gets_as_much_as_stays_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_no_tenant_can_get_is_refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_waits_for_room_and_is_told_on_its_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_part_of_a_claim_goes_on_without_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_that_is_waited_for_gets_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wait_can_be_given_up_at_any_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wide_windows_get_an_eighth, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("gateway/http/tenant_memory", tests, NULL, NULL);
}
