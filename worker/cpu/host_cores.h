/* The cores that this process may use: those of its affinity (taskset, cpusets), or fewer when its control
 * groups have a quota of CPU time. A container has one: threads beyond it only wait for its next period.
 *
 * Threads: any. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns at least 1. */
int host_cores(void);

/* Returns the quota of the control groups that `membership` (/proc/self/cgroup) names, under `root`
 * (/sys/fs/cgroup), in versions 1 and 2 and with all groups around them, in whole cores: one and a half
 * are 2. UINT64_MAX when there is none. */
uint64_t host_cores_cgroup_limit(const char *membership, const char *root);

/* Forbids a thread this core, if it may use another, so that one that sleeps wakes up elsewhere. `thread`:
 * its id in the system. False: nothing has changed. */
bool host_cores_keep_off(pid_t thread, int core, cpu_set_t *ret_before);

/* Lets the calling thread use these cores. */
void host_cores_use(const cpu_set_t *cores);
