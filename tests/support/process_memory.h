/* The memory of another process, as the kernel counts it. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Return bytes; 0 when the process is not there. */
size_t process_resident(pid_t pid);
size_t process_peak(pid_t pid); /* the most that was resident since process_forget_peak() */

void process_forget_peak(pid_t pid);
