#include <pthread.h>

#include "gateway/plan/plan_cache.h"
#include "shared/base/mutex.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"

enum { PLAN_SIZE = 1000 };

static Plan *
plan_of_size(size_t size)
{
    Arena *arena = arena_new(1 << 20);
    assert_non_null(arena);
    Plan *plan = arena_alloc(arena, sizeof *plan);
    assert_non_null(plan);
    *plan = (Plan){.reference_count = 1, .arena = arena, .byte_size = size};
    return plan;
}

static void
put(PlanCache *cache, const char *key)
{
    AUTO_PLAN plan = plan_of_size(PLAN_SIZE);
    plan_cache_put(cache, slice_from_string(key), plan);
}

/* Returns whether the plan is cached; a compilation that this look-up begins is given up at once. */
static bool
is_cached(PlanCache *cache, const char *key)
{
    AUTO_PLAN plan = NULL;
    PlanWaiter waiter = {0};
    PlanLookup lookup = plan_cache_get(cache, slice_from_string(key), &waiter, &plan);
    if (lookup == PLAN_COMPILE) {
        plan_cache_fail(cache, slice_from_string(key), &(Error){.code = STATUS_CANCELLED});
    }
    return lookup == PLAN_FOUND;
}

typedef struct Guest {
    PlanWaiter waiter;
    int call_count;
    PlanLookup lookup;
    Plan *plan;
    Status code;
    char message[64];
} Guest;

static void
guest_called(PlanWaiter *waiter, const PlanOutcome *outcome)
{
    Guest *guest = LIST_ITEM(waiter, Guest, waiter);
    guest->call_count++;
    guest->lookup = outcome->lookup;
    guest->plan = outcome->plan;
    guest->code = outcome->code;
    (void)snprintf(
        guest->message, sizeof guest->message, "%s", outcome->message == NULL ? "" : outcome->message);
}

static PlanLookup
ask(PlanCache *cache, Guest *guest)
{
    guest->waiter.on_ready = guest_called;
    return plan_cache_get(cache, SLICE("k"), &guest->waiter, &guest->plan);
}

static void
the_least_recently_used_plan_goes_first(void **state)
{
    (void)state;
    PlanCache *cache = plan_cache_new(3 * (PLAN_SIZE + 100));
    put(cache, "a");
    put(cache, "b");
    put(cache, "c");
    assert_true(is_cached(cache, "a"));
    put(cache, "d");
    assert_false(is_cached(cache, "b"));
    assert_true(is_cached(cache, "a"));
    assert_true(is_cached(cache, "c"));
    assert_true(is_cached(cache, "d"));
    PlanCacheStats stats = plan_cache_stats(cache);
    assert_int_equal(stats.plan_count, 3);
    assert_int_equal(stats.eviction_count, 1);
    assert_true(stats.byte_size <= 3 * (PLAN_SIZE + 100));
    plan_cache_free(cache);
}

static void
a_plan_larger_than_the_cache_is_passed_on_and_not_kept(void **state)
{
    (void)state;
    PlanCache *cache = plan_cache_new(PLAN_SIZE);
    Guest first = {0};
    Guest second = {0};
    assert_int_equal(ask(cache, &first), PLAN_COMPILE);
    assert_int_equal(ask(cache, &second), PLAN_WAIT);
    AUTO_PLAN plan = plan_of_size(PLAN_SIZE);
    plan_cache_put(cache, SLICE("k"), plan);
    assert_ptr_equal(second.plan, plan);
    plan_unref(second.plan);
    assert_false(is_cached(cache, "k"));
    plan_cache_free(cache);
}

static void
one_compiles_while_the_others_wait(void **state)
{
    (void)state;
    PlanCache *cache = plan_cache_new(1 << 20);
    Guest guests[4] = {0};
    assert_int_equal(ask(cache, &guests[0]), PLAN_COMPILE);
    assert_int_equal(ask(cache, &guests[1]), PLAN_WAIT);
    assert_int_equal(ask(cache, &guests[2]), PLAN_WAIT);
    assert_int_equal(ask(cache, &guests[3]), PLAN_WAIT);
    assert_true(plan_cache_leave(cache, &guests[2].waiter));
    AUTO_PLAN plan = plan_of_size(PLAN_SIZE);
    plan_cache_put(cache, SLICE("k"), plan);
    assert_int_equal(guests[1].lookup, PLAN_FOUND);
    assert_ptr_equal(guests[3].plan, plan);
    assert_int_equal(guests[2].call_count, 0);
    assert_false(plan_cache_leave(cache, &guests[1].waiter));
    plan_unref(guests[1].plan);
    plan_unref(guests[3].plan);
    assert_int_equal(plan->reference_count, 2);
    assert_int_equal(plan_cache_stats(cache).miss_count, 1);
    plan_cache_free(cache);
    assert_int_equal(plan->reference_count, 1);
}

static void
a_failure_is_told_to_all_and_not_remembered(void **state)
{
    (void)state;
    PlanCache *cache = plan_cache_new(1 << 20);
    Guest guests[3] = {0};
    assert_int_equal(ask(cache, &guests[0]), PLAN_COMPILE);
    assert_int_equal(ask(cache, &guests[1]), PLAN_WAIT);
    assert_int_equal(ask(cache, &guests[2]), PLAN_WAIT);
    plan_cache_fail(cache, SLICE("k"), &(Error){.code = STATUS_UNIMPLEMENTED, .message = "no such op"});
    for (int index = 1; index < 3; index++) {
        assert_int_equal(guests[index].lookup, PLAN_FAILED);
        assert_int_equal(guests[index].code, STATUS_UNIMPLEMENTED);
        assert_string_equal(guests[index].message, "no such op");
    }
    assert_int_equal(ask(cache, &guests[0]), PLAN_COMPILE);
    plan_cache_fail(cache, SLICE("k"), &(Error){.code = STATUS_INTERNAL});
    plan_cache_free(cache);
}

static void
who_gives_up_hands_the_work_to_the_next_in_line(void **state)
{
    (void)state;
    PlanCache *cache = plan_cache_new(1 << 20);
    Guest guests[3] = {0};
    assert_int_equal(ask(cache, &guests[0]), PLAN_COMPILE);
    assert_int_equal(ask(cache, &guests[1]), PLAN_WAIT);
    assert_int_equal(ask(cache, &guests[2]), PLAN_WAIT);
    plan_cache_fail(cache, SLICE("k"), &(Error){.code = STATUS_CANCELLED});
    assert_int_equal(guests[1].lookup, PLAN_COMPILE);
    assert_int_equal(guests[2].call_count, 0);
    plan_cache_fail(cache, SLICE("k"), &(Error){.code = STATUS_DEADLINE_EXCEEDED});
    assert_int_equal(guests[2].lookup, PLAN_COMPILE);
    put(cache, "k");
    assert_true(is_cached(cache, "k"));
    plan_cache_free(cache);
}

static void
count_plan(void *context, Plan *plan)
{
    assert_non_null(plan);
    *(int *)context += 1;
}

static void
a_deleted_graphs_plans_are_forgotten(void **state)
{
    int count = 0;
    Call *call = *state;
    PlanCache *cache = plan_cache_new(1 << 20);
    Slice fetch = SLICE("y");
    Signature given = {.fetches = &fetch, .fetch_count = 1, .options = {.slot_count = 1}};
    Signature kept;
    Signature dropped;
    assert_status(call, STATUS_OK, signature_make(call, SLICE("graph1"), &given, &kept));
    assert_status(call, STATUS_OK, signature_make(call, SLICE("graph"), &given, &dropped));
    AUTO_PLAN plan = plan_of_size(PLAN_SIZE);
    plan_cache_put(cache, kept.key, plan);
    plan_cache_put(cache, dropped.key, plan);
    plan_cache_forget_graph(cache, SLICE("graph"), count_plan, &count);
    assert_int_equal(count, 0); /* the other graph has a plan with the same partitions */
    assert_int_equal(plan_cache_stats(cache).plan_count, 1);
    plan_cache_forget_graph(cache, SLICE("graph1"), count_plan, &count);
    assert_int_equal(count, 1);
    assert_int_equal(plan_cache_stats(cache).plan_count, 0);
    plan_cache_free(cache);
}

static void
without_memory_the_cache_forgets_and_nothing_fails(void **state)
{
    (void)state;
    for (size_t failing = 1; failing < 8; failing++) {
        PlanCache *cache = plan_cache_new(1 << 20);
        Guest guest = {0};
        AUTO_PLAN plan = plan_of_size(PLAN_SIZE);
        fail_alloc_count = 0;
        fail_alloc_at = failing;
        PlanLookup lookup = ask(cache, &guest);
        plan_cache_put(cache, SLICE("k"), plan);
        fail_alloc_at = 0;
        assert_int_equal(lookup, PLAN_COMPILE);
        PlanLookup again = ask(cache, &guest);
        assert_true(again == PLAN_FOUND || again == PLAN_COMPILE);
        plan_unref(guest.plan);
        plan_cache_put(cache, SLICE("k"), plan);
        plan_cache_free(cache);
    }
}

enum { THREADS = 4, ROUNDS = 400, KEYS = 7 };

typedef struct Racer {
    PlanWaiter waiter;
    PlanCache *cache;
    Mutex mutex;
    Condition called;
    PlanOutcome outcome;
    bool is_called;
} Racer;

static void
racer_called(PlanWaiter *waiter, const PlanOutcome *outcome)
{
    Racer *racer = LIST_ITEM(waiter, Racer, waiter);
    mutex_lock(&racer->mutex);
    racer->outcome = *outcome;
    racer->is_called = true;
    condition_signal(&racer->called);
    mutex_unlock(&racer->mutex);
}

static PlanOutcome
racer_await(Racer *racer)
{
    mutex_lock(&racer->mutex);
    while (!racer->is_called) {
        condition_wait(&racer->called, &racer->mutex);
    }
    racer->is_called = false;
    PlanOutcome outcome = racer->outcome;
    mutex_unlock(&racer->mutex);
    return outcome;
}

static void *
race(void *argument)
{
    Racer *racer = argument;
    for (int round = 0; round < ROUNDS; round++) {
        char byte = (char)('a' + round % KEYS);
        Slice key = slice_of(&byte, 1);
        PlanOutcome outcome = {0};
        outcome.lookup = plan_cache_get(racer->cache, key, &racer->waiter, &outcome.plan);
        if (outcome.lookup == PLAN_WAIT) {
            outcome = racer_await(racer);
        }
        if (outcome.lookup == PLAN_COMPILE && round % 5 == 0) {
            plan_cache_fail(
                racer->cache, key, &(Error){.code = round % 2 == 0 ? STATUS_CANCELLED : STATUS_INTERNAL});
        } else if (outcome.lookup == PLAN_COMPILE) {
            outcome.plan = plan_of_size(PLAN_SIZE);
            plan_cache_put(racer->cache, key, outcome.plan);
        }
        plan_unref(outcome.plan);
    }
    return NULL;
}

static void
threads_share_a_small_cache(void **state)
{
    (void)state;
    PlanCache *cache = plan_cache_new(3 * (PLAN_SIZE + 100));
    pthread_t threads[THREADS];
    Racer racers[THREADS] = {0};
    for (int index = 0; index < THREADS; index++) {
        racers[index].cache = cache;
        racers[index].waiter.on_ready = racer_called;
        mutex_init(&racers[index].mutex);
        condition_init(&racers[index].called);
        assert_int_equal(pthread_create(&threads[index], NULL, race, &racers[index]), 0);
    }
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(threads[index], NULL), 0);
        mutex_done(&racers[index].mutex);
        condition_done(&racers[index].called);
    }
    PlanCacheStats stats = plan_cache_stats(cache);
    assert_true(stats.plan_count <= 3);
    assert_true(stats.hit_count + stats.miss_count + stats.wait_count >= THREADS * ROUNDS);
    plan_cache_free(cache);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_plan_goes_first),
        cmocka_unit_test(a_plan_larger_than_the_cache_is_passed_on_and_not_kept),
        cmocka_unit_test(one_compiles_while_the_others_wait),
        cmocka_unit_test(a_failure_is_told_to_all_and_not_remembered),
        cmocka_unit_test(who_gives_up_hands_the_work_to_the_next_in_line),
        CALL_TEST(a_deleted_graphs_plans_are_forgotten),
        cmocka_unit_test(without_memory_the_cache_forgets_and_nothing_fails),
        cmocka_unit_test(threads_share_a_small_cache),
    };
    return cmocka_run_group_tests_name("gateway/plan/plan_cache", tests, NULL, NULL);
}
