#include "gateway/graphs/plan_obtain.h"

#include <pthread.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"

enum { CACHE_SIZE = 1 << 20, THREADS = 4 };

static void
graph_release(void *graph)
{
    graph_unref(graph);
}

/* Returns the request for a step that fetches `fetch` of a graph with one addition. The lists live in the
 * call's arena. */
static PlanRequest
request_of(Call *call, const char *fetch)
{
    AUTO_GRAPH_DEF def = graph_literal("x = Placeholder() dtype=float32\ny = Add(x, x) T=float32");
    Signature *signature = arena_alloc(call->arena, sizeof *signature);
    Graph *graph = NULL;
    const Slice fetches[] = {slice_from_string(fetch)};
    const SignatureFeed feeds[] = {{.name = SLICE("x"), .dtype = DTYPE_FLOAT32, .shape = shape_unknown()}};
    Signature given = {
        .feeds = feeds,
        .feed_count = COUNT_OF(feeds),
        .fetches = fetches,
        .fetch_count = COUNT_OF(fetches),
        .options = {.slot_count = 1},
    };
    assert_non_null(def);
    assert_non_null(signature);
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    assert_non_null(arena_defer(call->arena, graph_release, graph));
    assert_status(call, STATUS_OK, signature_make(call, SLICE("test"), &given, signature));
    return (PlanRequest){.graph = graph, .signature = signature};
}

static void
a_plan_is_compiled_once_and_found_then(void **state)
{
    Call *call = *state;
    PlanCache *cache = plan_cache_new(CACHE_SIZE);
    PlanRequest request = request_of(call, "y");
    AUTO_PLAN first = NULL;
    AUTO_PLAN second = NULL;
    assert_status(call, STATUS_OK, plan_obtain(call, cache, &request, &first));
    assert_status(call, STATUS_OK, plan_obtain(call, cache, &request, &second));
    assert_ptr_equal(first, second);
    assert_int_equal(plan_cache_stats(cache).miss_count, 1);
    plan_cache_free(cache);
}

static void
a_failure_is_told_and_not_remembered(void **state)
{
    Call *call = *state;
    PlanCache *cache = plan_cache_new(CACHE_SIZE);
    PlanRequest request = request_of(call, "nothing");
    Plan *plan = NULL;
    for (uint64_t turn = 1; turn <= 2; turn++) {
        assert_int_equal(plan_obtain(call, cache, &request, &plan), STATUS_NOT_FOUND);
        assert_true(plan_cache_stats(cache).miss_count == turn);
        assert_null(plan);
    }
    plan_cache_free(cache);
}

/* A thread that wants the same plan while this one compiles it. */
typedef struct Guest {
    pthread_t thread;
    PlanCache *cache;
    const PlanRequest *request;
    uint64_t deadline_ns;
    Status status;
    char message[ERROR_MESSAGE_SIZE];
    Plan *plan;
} Guest;

static void *
guest_run(void *context)
{
    Guest *guest = context;
    AUTO_ARENA arena = arena_new(16 << 20);
    Call call = {.arena = arena, .deadline_ns = guest->deadline_ns};
    guest->status = plan_obtain(&call, guest->cache, guest->request, &guest->plan);
    (void)snprintf(guest->message, sizeof guest->message, "%s", call.error.message);
    return NULL;
}

/* Takes the compilation on and lets guests wait for it. */
static void
guests_wait(PlanCache *cache, const PlanRequest *request, Guest *guests, uint64_t count)
{
    PlanWaiter waiter = {0};
    Plan *plan = NULL;
    assert_int_equal(plan_cache_get(cache, request->signature->key, &waiter, &plan), PLAN_COMPILE);
    for (uint64_t index = 0; index < count; index++) {
        guests[index].cache = cache;
        guests[index].request = request;
        assert_int_equal(pthread_create(&guests[index].thread, NULL, guest_run, &guests[index]), 0);
    }
    while (plan_cache_stats(cache).wait_count < count) {
        (void)usleep(100);
    }
}

static void
everybody_who_waits_gets_the_plan(void **state)
{
    Call *call = *state;
    PlanCache *cache = plan_cache_new(CACHE_SIZE);
    PlanRequest request = request_of(call, "y");
    Guest guests[THREADS] = {0};
    AUTO_PLAN plan = NULL;
    guests_wait(cache, &request, guests, THREADS);
    assert_status(call, STATUS_OK, plan_compile(call, &request, &plan));
    plan_cache_put(cache, request.signature->key, plan);
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(guests[index].thread, NULL), 0);
        assert_int_equal(guests[index].status, STATUS_OK);
        assert_ptr_equal(guests[index].plan, plan);
        plan_unref(guests[index].plan);
    }
    assert_int_equal(plan_cache_stats(cache).miss_count, 1);
    plan_cache_free(cache);
}

static void
everybody_who_waits_hears_of_the_failure(void **state)
{
    Call *call = *state;
    PlanCache *cache = plan_cache_new(CACHE_SIZE);
    PlanRequest request = request_of(call, "y");
    Guest guests[THREADS] = {0};
    guests_wait(cache, &request, guests, THREADS);
    (void)!call_fail(call, STATUS_INVALID_ARGUMENT, "no good");
    plan_cache_fail(cache, request.signature->key, &call->error);
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(guests[index].thread, NULL), 0);
        assert_int_equal(guests[index].status, STATUS_INVALID_ARGUMENT);
        assert_string_equal(guests[index].message, "no good");
    }
    plan_cache_free(cache);
}

static void
one_of_those_who_wait_compiles_when_the_first_gives_up(void **state)
{
    Call *call = *state;
    PlanCache *cache = plan_cache_new(CACHE_SIZE);
    PlanRequest request = request_of(call, "y");
    Guest guests[THREADS] = {0};
    guests_wait(cache, &request, guests, THREADS);
    plan_cache_fail(cache, request.signature->key, &(Error){.code = STATUS_CANCELLED});
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(guests[index].thread, NULL), 0);
        assert_int_equal(guests[index].status, STATUS_OK);
        assert_ptr_equal(guests[index].plan, guests[0].plan);
    }
    for (int index = 0; index < THREADS; index++) {
        plan_unref(guests[index].plan);
    }
    plan_cache_free(cache);
}

static void
who_has_no_time_left_stops_waiting(void **state)
{
    Call *call = *state;
    PlanCache *cache = plan_cache_new(CACHE_SIZE);
    PlanRequest request = request_of(call, "y");
    Guest guest = {.deadline_ns = clock_monotonic_ns() + 5 * CLOCK_NS_PER_MS};
    guests_wait(cache, &request, &guest, 1);
    assert_int_equal(pthread_join(guest.thread, NULL), 0);
    assert_int_equal(guest.status, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(guest.message, "the plan was not compiled before the deadline");
    assert_null(guest.plan);
    plan_cache_fail(cache, request.signature->key, &(Error){.code = STATUS_CANCELLED});
    plan_cache_free(cache);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_plan_is_compiled_once_and_found_then),
        CALL_TEST(a_failure_is_told_and_not_remembered),
        CALL_TEST(everybody_who_waits_gets_the_plan),
        CALL_TEST(everybody_who_waits_hears_of_the_failure),
        CALL_TEST(one_of_those_who_wait_compiles_when_the_first_gives_up),
        CALL_TEST(who_has_no_time_left_stops_waiting),
    };
    return cmocka_run_group_tests_name("graphs/plan_obtain", tests, NULL, NULL);
}
