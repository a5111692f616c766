#include "tests/support/control_groups.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"

enum { PATH_SIZE = 512 };

static char folder[64];

int
control_groups_set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/control_groups_XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

int
control_groups_tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    return 0;
}

void
control_groups_put_file(const char *name, const char *text)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void
control_groups_put_folder(const char *name)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

uint64_t
control_groups_read_limit(uint64_t (*read)(const char *membership, const char *root))
{
    char membership[PATH_SIZE];
    (void)snprintf(membership, sizeof membership, "%s/cgroup", folder);
    return read(membership, folder);
}
