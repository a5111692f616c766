#include "worker/cpu/host_cores.h"

#include <sched.h>
#include <unistd.h>

#include "shared/base/slice.h"
#include "worker/cpu/control_groups.h"

/* Returns so many cores as get `quota` of CPU time in each `period`. */
static uint64_t
whole_cores(uint64_t quota, uint64_t period)
{
    uint64_t cores = period == 0 ? UINT64_MAX : quota / period + (quota % period != 0 ? 1 : 0);
    return cores == 0 ? UINT64_MAX : cores;
}

/* A file without a number, and a quota of -1, mean none. */
static bool
read_microseconds(const char *folder, const char *file, uint64_t *ret_microseconds)
{
    char line[64];
    return control_groups_read(folder, file, line, sizeof line) &&
           slice_to_uint64(slice_from_string(line), ret_microseconds);
}

static uint64_t
read_version_1(const char *folder)
{
    uint64_t quota;
    uint64_t period;
    bool has_quota = read_microseconds(folder, "cpu.cfs_quota_us", &quota) &&
                     read_microseconds(folder, "cpu.cfs_period_us", &period);
    return has_quota ? whole_cores(quota, period) : UINT64_MAX;
}

/* Reads "quota period"; "max period" means none. */
static uint64_t
read_version_2(const char *folder)
{
    char line[64];
    uint64_t quota;
    uint64_t period;
    if (!control_groups_read(folder, "cpu.max", line, sizeof line)) {
        return UINT64_MAX;
    }
    Slice rest = slice_from_string(line);
    Slice first;
    bool has_quota =
        slice_split(&rest, ' ', &first) && slice_to_uint64(first, &quota) && slice_to_uint64(rest, &period);
    return has_quota ? whole_cores(quota, period) : UINT64_MAX;
}

uint64_t
host_cores_cgroup_limit(const char *membership, const char *root)
{
    static const ControlGroupLimit cpu = {
        .controller = "cpu", .read_version_1 = read_version_1, .read_version_2 = read_version_2};
    return control_groups_limit(&cpu, membership, root);
}

/* The set has room for 1024 cores; the system refuses it on larger machines. */
static uint64_t
cores_of_affinity(void)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bool has_set = sched_getaffinity(0, sizeof set, &set) == 0;
    return has_set ? (uint64_t)CPU_COUNT(&set) : online < 1 ? 1 : (uint64_t)online;
}

int
host_cores(void)
{
    uint64_t cores = cores_of_affinity();
    uint64_t limit = host_cores_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    return (int)(cores < limit ? cores : limit);
}

bool
host_cores_keep_off(pid_t thread, int core, cpu_set_t *ret_before)
{
    cpu_set_t allowed;
    bool is_known =
        core >= 0 && core < CPU_SETSIZE && sched_getaffinity(thread, sizeof allowed, &allowed) == 0;
    if (!is_known || !CPU_ISSET((size_t)core, &allowed) || CPU_COUNT(&allowed) == 1) {
        return false;
    }
    cpu_set_t others = allowed;
    CPU_CLR((size_t)core, &others);
    if (sched_setaffinity(thread, sizeof others, &others) != 0) {
        return false;
    }
    *ret_before = allowed;
    return true;
}

void
host_cores_use(const cpu_set_t *cores)
{
    (void)sched_setaffinity(0, sizeof *cores, cores);
}
