/* How much memory this process may have: the machine's, or what the control groups it runs in leave of it. A
 * container has a limit, and past it comes the kernel's OOM killer.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

/* Bytes. */
uint64_t host_memory(void);

/* The limit of the control groups that `membership` (/proc/self/cgroup) names, under `root` (/sys/fs/cgroup),
 * in versions 1 and 2 and with all groups around them; UINT64_MAX when there is none. */
uint64_t host_memory_cgroup_limit(const char *membership, const char *root);
