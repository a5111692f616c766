#include "worker/cpu/control_groups.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/slice.h"

enum { LINE_SIZE = 1024, PATH_SIZE = 2048 };

static uint64_t
smaller_of(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

bool
control_groups_read(const char *folder, const char *file, char *line, int size)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *opened = fopen(path, "re");
    if (opened == NULL) {
        return false;
    }
    bool has_line = fgets(line, size, opened) != NULL;
    (void)fclose(opened);
    line[has_line ? strcspn(line, "\n") : 0] = '\0';
    return has_line;
}

/* Returns the least limit of the group and of all groups around it: "/a/b", "/a", "". In a container outer
 * groups may not be visible, and its own is the root. `hierarchy`: the folder of all its groups. */
static uint64_t
limit_of_group(uint64_t (*read)(const char *folder), const char *hierarchy, Slice group)
{
    uint64_t limit = UINT64_MAX;
    for (;;) {
        char folder[PATH_SIZE];
        (void)snprintf(folder, sizeof folder, "%s%.*s", hierarchy, SLICE_PRINT(group));
        limit = smaller_of(limit, read(folder));
        if (group.size == 0) {
            return limit;
        }
        size_t last = slice_find_last(group, '/');
        group = slice_part(group, 0, last < group.size ? last : 0);
    }
}

/* Returns whether a list like "cpu,cpuacct" has the controller. */
static bool
has_controller(Slice list, const char *controller)
{
    Slice one;
    while (slice_split(&list, ',', &one)) {
        if (slice_equals_string(one, controller)) {
            return true;
        }
    }
    return false;
}

/* Returns the limit of the group that a line names: "number:controllers:/path", in version 2 without
 * controllers. */
static uint64_t
limit_of_line(const ControlGroupLimit *kind, Slice line, const char *root)
{
    Slice number;
    Slice controllers;
    char hierarchy[PATH_SIZE];
    if (!slice_split(&line, ':', &number) || !slice_split(&line, ':', &controllers)) {
        return UINT64_MAX;
    }
    if (controllers.size == 0) {
        return limit_of_group(kind->read_version_2, root, line);
    }
    if (!has_controller(controllers, kind->controller)) {
        return UINT64_MAX;
    }
    (void)snprintf(hierarchy, sizeof hierarchy, "%s/%s", root, kind->controller);
    return limit_of_group(kind->read_version_1, hierarchy, line);
}

uint64_t
control_groups_limit(const ControlGroupLimit *kind, const char *membership, const char *root)
{
    assert(kind != NULL && membership != NULL && root != NULL);
    char line[LINE_SIZE];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(membership, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        limit = smaller_of(limit, limit_of_line(kind, slice_from_string(line), root));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return limit;
}
