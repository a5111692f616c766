#include "worker/cpu/host_memory.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"

enum { PATH_SIZE = 512 };

static char folder[64];

static int
set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/host_memory_XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    return 0;
}

static void
put_file(const char *name, const char *text)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void
put_folder(const char *name)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static uint64_t
limit(void)
{
    char membership[PATH_SIZE];
    (void)snprintf(membership, sizeof membership, "%s/cgroup", folder);
    return host_memory_cgroup_limit(membership, folder);
}

static void
the_least_of_the_groups_around_counts(void **state)
{
    (void)state;
    put_folder("pods");
    put_folder("pods/one");
    put_file("cgroup", "0::/pods/one\n");
    put_file("pods/memory.max", "1048576\n");
    put_file("pods/one/memory.max", "max\n");
    assert_int_equal(limit(), 1048576);
    put_file("pods/one/memory.max", "4096\n");
    assert_int_equal(limit(), 4096);
}

static void
in_a_container_its_own_group_is_the_root(void **state)
{
    (void)state;
    put_file("cgroup", "0::/\n");
    put_file("memory.max", "65536\n");
    assert_int_equal(limit(), 65536);
}

static void
version_1_has_a_hierarchy_of_its_own(void **state)
{
    (void)state;
    put_folder("memory");
    put_folder("memory/job");
    put_file("cgroup", "9:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");
    put_file("memory/job/memory.limit_in_bytes", "8192\n");
    assert_int_equal(limit(), 8192);
}

static void
without_groups_there_is_no_limit_but_the_machines(void **state)
{
    (void)state;
    assert_true(limit() == UINT64_MAX);
    put_file("cgroup", "this is no membership\n0::/nobody\n");
    assert_true(limit() == UINT64_MAX);
    assert_true(host_memory() > 0);
    assert_true(host_memory() <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
