/* A folder with files as the kernel has them of control groups: `cgroup` says which groups the process is in
 * (/proc/self/cgroup), all else is below the root of the hierarchies (/sys/fs/cgroup). */
#pragma once

#include <stdint.h>

/* Make the folder and remove it, around a test of cmocka's. */
int control_groups_set_up(void **state);
int control_groups_tear_down(void **state);

void control_groups_put_file(const char *name, const char *text);
void control_groups_put_folder(const char *name);

/* Returns what a reader of limits finds in the folder. */
uint64_t control_groups_read_limit(uint64_t (*read)(const char *membership, const char *root));
