#include "gateway/domain/request_rate.h"

#include <pthread.h>

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"

static const uint64_t start_ns = 7 * CLOCK_NS_PER_S;

static int
take_many(RequestRate *rate, uint64_t now_ns, int count)
{
    int passed = 0;
    for (int index = 0; index < count; index++) {
        passed += request_rate_take(rate, now_ns) == 0 ? 1 : 0;
    }
    return passed;
}

static void
a_second_of_requests_may_come_at_once_and_not_one_more(void **state)
{
    (void)state;
    RequestRate rate = {.per_second = 10};
    assert_int_equal(take_many(&rate, start_ns, 100), 10);
    assert_int_equal(request_rate_take(&rate, start_ns), CLOCK_NS_PER_S / 10);
}

static void
who_waits_as_long_as_told_may_send_again(void **state)
{
    (void)state;
    RequestRate rate = {.per_second = 3};
    assert_int_equal(take_many(&rate, start_ns, 3), 3);
    uint64_t wait_ns = request_rate_take(&rate, start_ns);
    assert_int_equal(request_rate_take(&rate, start_ns + wait_ns - 1), 1);
    assert_int_equal(request_rate_take(&rate, start_ns + wait_ns), 0);
    assert_int_not_equal(request_rate_take(&rate, start_ns + wait_ns), 0);
}

static void
over_a_long_time_the_rate_is_kept(void **state)
{
    (void)state;
    RequestRate rate = {.per_second = 50};
    int passed = 0;
    for (uint64_t at_ns = 0; at_ns < 10 * CLOCK_NS_PER_S; at_ns += CLOCK_NS_PER_MS) {
        passed += request_rate_take(&rate, start_ns + at_ns) == 0 ? 1 : 0;
    }
    assert_in_range(passed, 10 * 50, 10 * 50 + 50);
}

static void
without_a_rate_all_pass_and_a_new_one_counts_at_once(void **state)
{
    (void)state;
    RequestRate rate = {0};
    assert_int_equal(take_many(&rate, start_ns, 1000), 1000);
    request_rate_set(&rate, 1);
    assert_int_equal(take_many(&rate, start_ns, 1000), 1);
}

enum { THREADS = 4, TAKES = 20000 };

static void *
take_on_a_thread(void *context)
{
    RequestRate *rate = context;
    return (void *)(intptr_t)take_many(rate, start_ns, TAKES); // NOLINT(performance-no-int-to-ptr)
}

static void
threads_together_pass_no_more_than_one_alone(void **state)
{
    (void)state;
    RequestRate rate = {.per_second = 10000};
    pthread_t threads[THREADS];
    intptr_t passed = 0;
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_create(&threads[index], NULL, take_on_a_thread, &rate), 0);
    }
    for (int index = 0; index < THREADS; index++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[index], &result), 0);
        passed += (intptr_t)result;
    }
    assert_int_equal(passed, 10000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_of_requests_may_come_at_once_and_not_one_more),
        cmocka_unit_test(who_waits_as_long_as_told_may_send_again),
        cmocka_unit_test(over_a_long_time_the_rate_is_kept),
        cmocka_unit_test(without_a_rate_all_pass_and_a_new_one_counts_at_once),
        cmocka_unit_test(threads_together_pass_no_more_than_one_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
