#include "worker/cpu/host_memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/slice.h"

enum { LINE_SIZE = 1024, PATH_SIZE = 2048 };

typedef struct Hierarchy {
    const char *controllers; /* as /proc/self/cgroup has it: "4:memory:/path", "0::/path" */
    const char *folder;      /* below the root */
    const char *file;
} Hierarchy;

static const Hierarchy hierarchies[] = {
    {"", "", "memory.max"},
    {"memory", "/memory", "memory.limit_in_bytes"},
};

static uint64_t
smaller_of(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* Reads a limit; "max" and a missing file mean none. */
static uint64_t
read_limit(const char *path)
{
    char line[64] = "";
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        bool has_line = fgets(line, sizeof line, file) != NULL;
        (void)fclose(file);
        Slice text = slice_from_string(line);
        size_t end = has_line ? slice_find(text, '\n') : 0;
        (void)slice_to_uint64(slice_part(text, 0, end), &limit);
    }
    return limit;
}

/* Returns the smallest limit of the group and of all groups around it: "/a/b", "/a", "". In a container
 * outer groups may not be visible, and its own is the root. */
static uint64_t
limit_of_group(const Hierarchy *hierarchy, const char *root, Slice group)
{
    uint64_t limit = UINT64_MAX;
    for (;;) {
        char path[PATH_SIZE];
        (void)snprintf(
            path, sizeof path, "%s%s%.*s/%s", root, hierarchy->folder, SLICE_PRINT(group), hierarchy->file);
        limit = smaller_of(limit, read_limit(path));
        if (group.size == 0) {
            return limit;
        }
        size_t last = slice_find_last(group, '/');
        group = slice_part(group, 0, last < group.size ? last : 0);
    }
}

/* Returns the limit of the group that a line "number:controllers:/path" names. */
static uint64_t
limit_of_line(Slice line, const char *root)
{
    Slice number;
    Slice controllers;
    uint64_t limit = UINT64_MAX;
    if (!slice_split(&line, ':', &number) || !slice_split(&line, ':', &controllers)) {
        return limit;
    }
    for (size_t index = 0; index < COUNT_OF(hierarchies); index++) {
        if (slice_equals_string(controllers, hierarchies[index].controllers)) {
            limit = smaller_of(limit, limit_of_group(&hierarchies[index], root, line));
        }
    }
    return limit;
}

uint64_t
host_memory_cgroup_limit(const char *membership, const char *root)
{
    assert(membership != NULL && root != NULL);
    char line[LINE_SIZE];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(membership, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        limit = smaller_of(limit, limit_of_line(slice_from_string(line), root));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return limit;
}

uint64_t
host_memory(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return smaller_of(machine, host_memory_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup"));
}
