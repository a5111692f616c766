/* A trace is found by its tenant, session and step until newer ones need its room. */
#include "gateway/traces/trace_cache.h"

#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"

enum { SIZE = 100 };

static Uuid
uuid_of(uint8_t number)
{
    return (Uuid){.bytes = {number}};
}

/* Puts a trace of tenant 1 and session 2. */
static void
put(TraceCache *cache, uint8_t id, size_t size, int64_t attempt)
{
    AUTO_STEP_TRACE trace = memory_new(1, sizeof *trace);
    assert_non_null(trace);
    *trace = (StepTrace){
        .reference_count = 1,
        .tenant = {uuid_of(1)},
        .session = {uuid_of(2)},
        .id = {uuid_of(id)},
        .attempt = attempt,
        .size = size,
    };
    trace_cache_put(cache, trace);
}

/* Returns the attempt of the trace, 0 when there is none. */
static int64_t
get(TraceCache *cache, uint8_t tenant, uint8_t session, uint8_t id)
{
    AUTO_STEP_TRACE trace = trace_cache_get(
        cache, (TenantId){uuid_of(tenant)}, (SessionId){uuid_of(session)}, (StepId){uuid_of(id)});
    return trace == NULL ? 0 : trace->attempt;
}

static void
only_its_tenant_and_session_find_a_trace(void **state)
{
    (void)state;
    TraceCache *cache = trace_cache_new(SIZE);
    put(cache, 3, 10, 7);
    assert_int_equal(get(cache, 1, 2, 3), 7);
    assert_int_equal(get(cache, 9, 2, 3), 0);
    assert_int_equal(get(cache, 1, 9, 3), 0);
    assert_int_equal(get(cache, 1, 2, 9), 0);
    trace_cache_free(cache);
}

static void
the_one_not_asked_for_longest_makes_room(void **state)
{
    (void)state;
    TraceCache *cache = trace_cache_new(SIZE);
    put(cache, 1, 40, 1);
    put(cache, 2, 40, 1);
    assert_int_equal(get(cache, 1, 2, 1), 1);
    put(cache, 3, 40, 1);
    assert_int_equal(get(cache, 1, 2, 1), 1);
    assert_int_equal(get(cache, 1, 2, 2), 0);
    assert_int_equal(get(cache, 1, 2, 3), 1);
    trace_cache_free(cache);
}

static void
one_that_is_larger_than_the_cache_is_not_kept(void **state)
{
    (void)state;
    TraceCache *cache = trace_cache_new(SIZE);
    put(cache, 1, SIZE, 1);
    put(cache, 2, SIZE + 1, 1);
    assert_int_equal(get(cache, 1, 2, 1), 1);
    assert_int_equal(get(cache, 1, 2, 2), 0);
    trace_cache_free(cache);
}

static void
a_later_trace_of_a_step_replaces_the_one_before(void **state)
{
    (void)state;
    TraceCache *cache = trace_cache_new(SIZE);
    put(cache, 1, 60, 1);
    put(cache, 1, 60, 2);
    assert_int_equal(get(cache, 1, 2, 1), 2);
    put(cache, 2, 40, 1);
    assert_int_equal(get(cache, 1, 2, 1), 2);
    trace_cache_free(cache);
}

static void
the_newest_of_a_tenant_come_first_and_only_so_many(void **state)
{
    (void)state;
    TraceCache *cache = trace_cache_new(SIZE);
    StepTrace *newest[2];
    put(cache, 1, 10, 1);
    put(cache, 2, 10, 2);
    put(cache, 3, 10, 3);
    assert_int_equal(trace_cache_newest(cache, (TenantId){uuid_of(9)}, newest, 2), 0);
    assert_int_equal(trace_cache_newest(cache, (TenantId){uuid_of(1)}, newest, 2), 2);
    assert_int_equal(newest[0]->attempt, 3);
    assert_int_equal(newest[1]->attempt, 2);
    step_trace_unref(newest[0]);
    step_trace_unref(newest[1]);
    trace_cache_free(cache);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_its_tenant_and_session_find_a_trace),
        cmocka_unit_test(the_one_not_asked_for_longest_makes_room),
        cmocka_unit_test(one_that_is_larger_than_the_cache_is_not_kept),
        cmocka_unit_test(a_later_trace_of_a_step_replaces_the_one_before),
        cmocka_unit_test(the_newest_of_a_tenant_come_first_and_only_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
