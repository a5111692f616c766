/* The cores that this process may use: those of its affinity (taskset, cpusets), or fewer when its control
 * groups have a quota of CPU time. A container has one: threads beyond it only wait for its next period.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

/* Returns at least 1. */
int host_cores(void);

/* Returns the quota of the control groups that `membership` (/proc/self/cgroup) names, under `root`
 * (/sys/fs/cgroup), in versions 1 and 2 and with all groups around them, in whole cores: one and a half
 * are 2. UINT64_MAX when there is none. */
uint64_t host_cores_cgroup_limit(const char *membership, const char *root);

/* Moves the calling thread to another core than this one, if it may use another. */
void host_cores_leave(int core);
