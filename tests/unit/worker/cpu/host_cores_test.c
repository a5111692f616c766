#include "worker/cpu/host_cores.h"

#include <sched.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/control_groups.h"

static uint64_t
limit(void)
{
    return control_groups_read_limit(host_cores_cgroup_limit);
}

static void
a_quota_counts_in_whole_cores(void **state)
{
    (void)state;
    control_groups_put_file("cgroup", "0::/\n");
    control_groups_put_file("cpu.max", "200000 100000\n");
    assert_int_equal(limit(), 2);
    control_groups_put_file("cpu.max", "150000 100000\n");
    assert_int_equal(limit(), 2);
    control_groups_put_file("cpu.max", "5000 100000\n");
    assert_int_equal(limit(), 1);
}

static void
the_least_quota_of_the_groups_around_counts(void **state)
{
    (void)state;
    control_groups_put_folder("pods");
    control_groups_put_folder("pods/one");
    control_groups_put_file("cgroup", "0::/pods/one\n");
    control_groups_put_file("pods/cpu.max", "300000 100000\n");
    control_groups_put_file("pods/one/cpu.max", "max 100000\n");
    assert_int_equal(limit(), 3);
    control_groups_put_file("pods/one/cpu.max", "100000 50000\n");
    assert_int_equal(limit(), 2);
}

static void
version_1_has_quota_and_period_in_files_of_their_own(void **state)
{
    (void)state;
    control_groups_put_folder("cpu");
    control_groups_put_folder("cpu/job");
    control_groups_put_file("cgroup", "9:cpuacct,cpu:/job\n4:cpuset:/\n0::/\n");
    control_groups_put_file("cpu/cpu.cfs_quota_us", "-1\n");
    control_groups_put_file("cpu/cpu.cfs_period_us", "100000\n");
    assert_true(limit() == UINT64_MAX);
    control_groups_put_file("cpu/job/cpu.cfs_quota_us", "350000\n");
    control_groups_put_file("cpu/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(limit(), 4);
}

static void
a_file_that_tells_no_quota_limits_nothing(void **state)
{
    static const char *const texts[] = {"", "\n", "max\n", "max 100000\n", "200000\n", "200000 0\n",
        "0 100000\n", "-1 100000\n", "many much\n"};
    (void)state;
    assert_true(limit() == UINT64_MAX);
    control_groups_put_file("cgroup", "0::/\n");
    assert_true(limit() == UINT64_MAX);
    for (size_t index = 0; index < sizeof texts / sizeof texts[0]; index++) {
        control_groups_put_file("cpu.max", texts[index]);
        assert_true(limit() == UINT64_MAX);
    }
}

static void
a_process_bound_to_one_core_has_one(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t one;
    assert_true(host_cores() >= 1);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++) {
        if (CPU_ISSET(core, &before)) {
            CPU_SET(core, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(host_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(host_cores() <= CPU_COUNT(&before));
}

static void
a_thread_that_is_kept_off_a_core_may_use_the_others_until_it_is_back(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t kept;
    cpu_set_t after;
    int core = sched_getcpu();
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    bool has_others = CPU_COUNT(&before) > 1;
    assert_int_equal(host_cores_keep_off(gettid(), core, &kept), has_others);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_int_equal(CPU_ISSET((size_t)core, &after) != 0, !has_others);
    assert_int_equal(CPU_COUNT(&after), CPU_COUNT(&before) - has_others);
    if (has_others) {
        assert_true(CPU_EQUAL(&before, &kept));
        host_cores_use(&kept);
    }
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

static void
no_thread_is_kept_off_a_core_that_it_may_not_use(void **state)
{
    (void)state;
    cpu_set_t kept;
    assert_false(host_cores_keep_off(gettid(), -1, &kept));
    assert_false(host_cores_keep_off(gettid(), CPU_SETSIZE, &kept));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_groups_set_up, control_groups_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_quota_counts_in_whole_cores),
        TEST(the_least_quota_of_the_groups_around_counts),
        TEST(version_1_has_quota_and_period_in_files_of_their_own),
        TEST(a_file_that_tells_no_quota_limits_nothing),
        TEST(a_process_bound_to_one_core_has_one),
        TEST(a_thread_that_is_kept_off_a_core_may_use_the_others_until_it_is_back),
        TEST(no_thread_is_kept_off_a_core_that_it_may_not_use),
    };
    return cmocka_run_group_tests_name("worker/cpu/host_cores", tests, NULL, NULL);
}
