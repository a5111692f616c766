/* The one door of sluice-cuda.so. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "worker/cuda/device.h"
#include "worker/cuda/errors.h"

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

/* Returns a CUDA error code when there is no code for this thread's card (kernels/image.cu). */
int cuda_image_check(void);

/* The name of a card's kind in `isa` is "sm_90", before the first '/'. */
static Status
fail_without_image(Call *call, const PluginDevice *device)
{
    const char *number = device->device->isa + strlen("sm_");
    int length = (int)strcspn(number, "/");
    return call_fail(call, STATUS_FAILED_PRECONDITION,
        "'%s' is a card of sm_%.*s, for which this plugin has no code: build it with 'make cuda "
        "CUDA_ARCHS=%.*s', or "
        "for all cards with 'make cuda-release'",
        device->card, length, number, length, number);
}

static Status
open_device(Call *call, const PluginOptions *options, PluginDevice *ret_device)
{
    PluginDevice made = {0};
    TRY(cuda_device_open(call, options, &made));
    int error = cuda_image_check();
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        Status status = error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction
                            ? fail_without_image(call, &made)
                            : cuda_check(call, error, "asking for the code of a kernel");
        cuda_device_close(&made);
        return status;
    }
    *ret_device = made;
    return STATUS_OK;
}

__attribute__((visibility("default"))) const Plugin *
sluice_plugin(void)
{
    static Plugin plugin = {
        .build = PLUGIN_BUILD,
        .type = "GPU",
        .families = cuda_kernels_table,
        .open = open_device,
        .close = cuda_device_close,
    };
    plugin.family_count = cuda_kernels_table_count;
    return &plugin;
}
