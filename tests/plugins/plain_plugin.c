/* A plugin without kernels, whose device computes nothing and has no memory: for tests of how a worker starts
 * with a plugin, and of what it does when the device goes out of service: a file that PLAIN_PLUGIN_FAULT
 * names exists. PLAIN_PLUGIN_NONE: the device cannot be opened, and this is why. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/runtime/plugin.h"

static TensorBuffer *
refuse_allocation(Device *device, size_t size)
{
    (void)device;
    (void)size;
    return NULL;
}

static void
measure_memory(const Device *device, DeviceMemory *ret_memory)
{
    (void)device;
    *ret_memory = (DeviceMemory){.limit = 1 << 20};
}

static MemoryAccount *
charge_nobody(Device *device, MemoryAccount *account)
{
    (void)device;
    (void)account;
    return NULL;
}

static const char *
find_fault(Device *device)
{
    const char *file = getenv("PLAIN_PLUGIN_FAULT");
    (void)device;
    return file != NULL && access(file, F_OK) == 0 ? "an illegal address was accessed" : NULL;
}

static Device plain = {
    .type = "GPU",
    .isa = "plain",
    .thread_count = 1,
    .memory_number = 1,
    .allocate = refuse_allocation,
    .memory = measure_memory,
    .charge = charge_nobody,
    .fault = find_fault,
};

static Status
open_plain(Call *call, const PluginOptions *options, PluginDevice *ret_device)
{
    static const PluginLibrary libraries[] = {
        {.name = "cuBLAS", .version = "13.1.0"},
        {.name = "cuDNN", .reason = "libcudnn.so.9 cannot be found"},
    };
    static char card[160];
    const char *why = getenv("PLAIN_PLUGIN_NONE");
    if (why != NULL) {
        return call_fail(call, STATUS_FAILED_PRECONDITION, "%s", why);
    }
    (void)snprintf(card, sizeof card,
        "plain card '%s', %llu bytes, %d percent, %d percent a tenant, %llu pinned, libraries '%s'",
        options->device, (unsigned long long)options->memory, options->memory_percent,
        options->tenant_percent, (unsigned long long)options->pinned_memory, options->libraries);
    *ret_device = (PluginDevice){
        .device = &plain,
        .card = card,
        .driver = "580.1",
        .libraries = libraries,
        .library_count = COUNT_OF(libraries),
    };
    return STATUS_OK;
}

static void
close_plain(PluginDevice *device)
{
    (void)device;
}

__attribute__((visibility("default"))) const Plugin *
sluice_plugin(void)
{
    static const Plugin plugin = {
        .build = PLUGIN_BUILD,
        .type = "GPU",
        .open = open_plain,
        .close = close_plain,
    };
    return &plugin;
}
