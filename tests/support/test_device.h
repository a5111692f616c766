/* An accelerator for tests: its memory is the host's, but mapped twice, and where tensors point to nobody may
 * read or write. Its kernels are the host's own, which compute through the other mapping; so every result has
 * the host's bits, and whoever reads a tensor of the device without a copy ends the process. Copies to the
 * host and fences come late, on a thread of its own, in the order in which they began; copies from the host
 * come at once or late, as a seed says. Memory that is freed, and memory that is new, is filled with 0xff.
 *
 * Ownership: test_device_close() frees the device, all of whose buffers must have been freed.
 * Threads:   any, as a Device; one such device in a process at a time. */
#pragma once

#include "worker/runtime/kernel.h"

typedef struct TestDeviceOptions {
    Device *host;
    uint64_t memory;   /* bytes that may be allocated; 0: 1 GiB */
    uint32_t delay_us; /* the most that a copy or fence comes late; 0: 50 */
    uint32_t seed;
    const char *lacks;     /* an op for which it has no kernel; NULL: none */
    bool captures_nothing; /* every capture is refused */
    bool allows_tf32;
} TestDeviceOptions;

/* Makes the device. Its kernels must be registered (kernel_register()) when nodes are assigned to it. */
MUST_USE Status test_device_open(Call *call, const TestDeviceOptions *options, Device **ret_device);

/* Returns its kernels: one for each op of the host that reads and writes plain numbers. */
const KernelFamily *const *test_device_families(size_t *ret_count);
void test_device_close(Device *device); /* NULL is allowed */

/* The work that a device has done. */
typedef struct TestDeviceCounts {
    uint64_t computed; /* kernels */
    uint64_t tf32;     /* those of them that were allowed to round to TF32, which none does */
    uint64_t uploads;  /* copies from the host */
    uint64_t downloads;
    uint64_t fences;
} TestDeviceCounts;

TestDeviceCounts test_device_counts(const Device *device);

/* Puts the device out of service: what its lane is given from now on fails, as do copies and fences that have
 * not come yet. `reason` outlives the device. */
void test_device_break(Device *device, const char *reason);
