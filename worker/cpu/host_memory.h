/* The memory that this process may use: the machine's, or less when its control groups have a limit. A
 * container has one, past which the kernel's OOM killer ends the process.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

/* Returns bytes. */
uint64_t host_memory(void);

/* Returns the limit of the control groups that `membership` (/proc/self/cgroup) names, under `root`
 * (/sys/fs/cgroup), in versions 1 and 2 and with all groups around them; UINT64_MAX when there is none. */
uint64_t host_memory_cgroup_limit(const char *membership, const char *root);
