/* A plugin of another build: of it no worker may use anything but the numbers of its build. */
#include "worker/runtime/plugin.h"

__attribute__((visibility("default"))) const Plugin *
sluice_plugin(void)
{
    static const Plugin plugin = {
        .build = {PLUGIN_VERSION, sizeof(Tensor), sizeof(Kernel), sizeof(KernelContext), sizeof(Device) + 8},
    };
    return &plugin;
}
