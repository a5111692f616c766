/* The limits of the control groups that this process is in, of versions 1 and 2: the least of its own group
 * and of all groups around it counts.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A kind of limit. */
typedef struct ControlGroupLimit {
    const char *controller; /* its name in version 1, which has a hierarchy for each */
    /* Return the limit that the files of a group in `folder` set; UINT64_MAX: none. */
    uint64_t (*read_version_1)(const char *folder);
    uint64_t (*read_version_2)(const char *folder);
} ControlGroupLimit;

/* Returns the limit of the groups that `membership` (/proc/self/cgroup) names, under `root`
 * (/sys/fs/cgroup); UINT64_MAX when there is none. */
uint64_t control_groups_limit(const ControlGroupLimit *kind, const char *membership, const char *root);

/* Reads the first line of a group's file, without its end; returns false when there is none. */
bool control_groups_read(const char *folder, const char *file, char *line, int size);
