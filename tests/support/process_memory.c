#include "tests/support/process_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a line "<name>:  <number> kB" of /proc/<pid>/status. */
static size_t
read_size(pid_t pid, const char *name)
{
    char path[64];
    char line[256];
    size_t size = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(name);
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            size = strtoul(line + length + 1, NULL, 10) * 1024;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return size;
}

size_t
process_resident(pid_t pid)
{
    return read_size(pid, "VmRSS");
}

size_t
process_peak(pid_t pid)
{
    return read_size(pid, "VmHWM");
}

/* proc(5): 5 in clear_refs sets the peak to what is resident now. */
void
process_forget_peak(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid);
    FILE *file = fopen(path, "we");
    if (file != NULL) {
        (void)fputs("5", file);
        (void)fclose(file);
    }
}
