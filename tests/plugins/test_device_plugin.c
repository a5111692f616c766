/* The test device (tests/support/test_device.h) as the accelerator of a worker, which then runs every node
 * that it can on memory that the host cannot read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/test_device.h"
#include "worker/runtime/plugin.h"

static Status (*leave_lane)(Call *call, Device *device, DeviceLane *lane);

/* Ends a kernel's turn; once the file is there that SLUICE_TEST_DEVICE_FAULT names, the kernel has broken the
 * device. */
static Status
leave_or_break(Call *call, Device *device, DeviceLane *lane)
{
    const char *file = getenv("SLUICE_TEST_DEVICE_FAULT");
    if (file != NULL && access(file, F_OK) == 0) {
        test_device_break(device, "an illegal address was accessed");
    }
    return leave_lane(call, device, lane);
}

static Status
open_device(Call *call, const PluginOptions *options, PluginDevice *ret_device)
{
    TestDeviceOptions test = {
        .host = options->host, .memory = options->memory, .allows_tf32 = options->allows_tf32};
    Device *device = NULL;
    TRY(test_device_open(call, &test, &device));
    leave_lane = device->leave;
    device->leave = leave_or_break;
    *ret_device = (PluginDevice){.device = device, .card = "test device", .driver = "none"};
    return STATUS_OK;
}

/* Adds a line of JSON to the file that SLUICE_TEST_DEVICE_COUNTS names: how many nodes the device computed,
 * how many of them were allowed TF32, how many it has kernels for and left to the host, and how many tensors
 * were copied during runs. */
static void
write_counts(const Device *device)
{
    const DeviceCounts *counts = &device->counts;
    const char *path = getenv("SLUICE_TEST_DEVICE_COUNTS");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        (void)fprintf(file,
            "{\"computed\": %" PRIu64 ", \"tf32\": %" PRIu64 ", \"kept\": %" PRIu64 ", \"uploads\": %" PRIu64
            ", \"downloads\": %" PRIu64 "}\n",
            counts->kernels, test_device_counts(device).tf32, counts->kept, counts->uploads,
            counts->downloads);
        (void)fclose(file);
    }
}

static void
close_device(PluginDevice *device)
{
    write_counts(device->device);
    test_device_close(device->device);
}

__attribute__((visibility("default"))) const Plugin *
sluice_plugin(void)
{
    static Plugin plugin = {.build = PLUGIN_BUILD, .type = "GPU", .open = open_device, .close = close_device};
    plugin.families = test_device_families(&plugin.family_count);
    return &plugin;
}
