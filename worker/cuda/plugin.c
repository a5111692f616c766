/* The one door of sluice-cuda.so. */
#include "worker/cuda/device.h"

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

__attribute__((visibility("default"))) const Plugin *
sluice_plugin(void)
{
    static Plugin plugin = {
        .build = PLUGIN_BUILD,
        .type = "GPU",
        .families = cuda_kernels_table,
        .open = cuda_device_open,
        .close = cuda_device_close,
    };
    plugin.family_count = cuda_kernels_table_count;
    return &plugin;
}
