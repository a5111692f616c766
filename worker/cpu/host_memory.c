#include "worker/cpu/host_memory.h"

#include <unistd.h>

#include "shared/base/slice.h"
#include "worker/cpu/control_groups.h"

/* Reads a limit; "max" and a missing file mean none. */
static uint64_t
read_limit(const char *folder, const char *file)
{
    char line[64];
    uint64_t limit = UINT64_MAX;
    if (control_groups_read(folder, file, line, sizeof line)) {
        (void)slice_to_uint64(slice_from_string(line), &limit);
    }
    return limit;
}

static uint64_t
read_version_1(const char *folder)
{
    return read_limit(folder, "memory.limit_in_bytes");
}

static uint64_t
read_version_2(const char *folder)
{
    return read_limit(folder, "memory.max");
}

uint64_t
host_memory_cgroup_limit(const char *membership, const char *root)
{
    static const ControlGroupLimit memory = {
        .controller = "memory", .read_version_1 = read_version_1, .read_version_2 = read_version_2};
    return control_groups_limit(&memory, membership, root);
}

uint64_t
host_memory(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = host_memory_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    return machine < limit ? machine : limit;
}
