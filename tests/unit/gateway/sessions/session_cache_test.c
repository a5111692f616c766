/* The cache without a database: sessions are found until they are too old. */
#include "gateway/sessions/session_cache.h"

#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"

static Uuid
uuid_of(uint8_t number)
{
    return (Uuid){.bytes = {number}};
}

static void
a_session_that_was_never_loaded_must_be(void **state)
{
    (void)state;
    SessionCache *cache = session_cache_new();
    TenantId tenant = {uuid_of(1)};
    SessionId session = {uuid_of(1)};
    assert_null(session_cache_find(cache, tenant, session, 0));
    assert_null(session_cache_find_stale(cache, tenant, session));
    session_cache_drop(cache, tenant, session);
    session_cache_free(cache);
}

static void
put_session(SessionCache *cache, uint32_t number, uint64_t loaded_ns)
{
    SessionSnapshot *session = memory_new(1, sizeof *session);
    assert_non_null(session);
    session->reference_count = 1;
    session->tenant.value = uuid_of(1);
    memcpy(session->id.value.bytes, &number, sizeof number);
    session->loaded_ns = loaded_ns;
    session->fresh_until_ns = loaded_ns + SESSION_FRESH_MS * CLOCK_NS_PER_MS;
    session_cache_put(cache, session);
}

static void
sessions_too_old_for_any_use_leave(void **state)
{
    (void)state;
    enum { MANY = 5000, FEW = 100 };
    SessionCache *cache = session_cache_new();
    uint64_t later_ns = 2 * SESSION_STALE_MS * CLOCK_NS_PER_MS;
    for (uint32_t number = 0; number < MANY; number++) {
        put_session(cache, number, 1);
    }
    assert_int_equal(session_cache_count(cache), MANY);
    for (uint32_t number = 0; number < 2 * MANY; number++) {
        put_session(cache, MANY + number % FEW, later_ns);
        put_session(cache, 2 * MANY + number, later_ns);
    }
    assert_in_range(session_cache_count(cache), 2 * MANY, 2 * MANY + FEW);
    uint32_t last = 2 * MANY;
    SessionId id = {{{0}}};
    memcpy(id.value.bytes, &last, sizeof last);
    SessionSnapshot *found = session_cache_find(cache, (TenantId){uuid_of(1)}, id, later_ns);
    assert_non_null(found);
    session_snapshot_unref(found);
    session_cache_free(cache);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_was_never_loaded_must_be),
        cmocka_unit_test(sessions_too_old_for_any_use_leave),
    };
    return cmocka_run_group_tests_name("gateway/sessions/session_cache", tests, NULL, NULL);
}
