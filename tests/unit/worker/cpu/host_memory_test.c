#include "worker/cpu/host_memory.h"

#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/control_groups.h"

static uint64_t
limit(void)
{
    return control_groups_read_limit(host_memory_cgroup_limit);
}

static void
the_least_of_the_groups_around_counts(void **state)
{
    (void)state;
    control_groups_put_folder("pods");
    control_groups_put_folder("pods/one");
    control_groups_put_file("cgroup", "0::/pods/one\n");
    control_groups_put_file("pods/memory.max", "1048576\n");
    control_groups_put_file("pods/one/memory.max", "max\n");
    assert_int_equal(limit(), 1048576);
    control_groups_put_file("pods/one/memory.max", "4096\n");
    assert_int_equal(limit(), 4096);
}

static void
in_a_container_its_own_group_is_the_root(void **state)
{
    (void)state;
    control_groups_put_file("cgroup", "0::/\n");
    control_groups_put_file("memory.max", "65536\n");
    assert_int_equal(limit(), 65536);
}

static void
version_1_has_a_hierarchy_of_its_own(void **state)
{
    (void)state;
    control_groups_put_folder("memory");
    control_groups_put_folder("memory/job");
    control_groups_put_file("cgroup", "9:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");
    control_groups_put_file("memory/job/memory.limit_in_bytes", "8192\n");
    assert_int_equal(limit(), 8192);
}

static void
without_groups_there_is_no_limit_but_the_machines(void **state)
{
    (void)state;
    assert_true(limit() == UINT64_MAX);
    control_groups_put_file("cgroup", "this is no membership\n0::/nobody\n");
    assert_true(limit() == UINT64_MAX);
    assert_true(host_memory() > 0);
    assert_true(host_memory() <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_groups_set_up, control_groups_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_least_of_the_groups_around_counts),
        TEST(in_a_container_its_own_group_is_the_root),
        TEST(version_1_has_a_hierarchy_of_its_own),
        TEST(without_groups_there_is_no_limit_but_the_machines),
    };
    return cmocka_run_group_tests_name("worker/cpu/host_memory", tests, NULL, NULL);
}
