#include "worker/accelerator/cuda_driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "shared/base/slice.h"

/* The driver that CUDA 13.0 needs (its release notes, table 3); versions are 1000 × major + 10 × minor. */
enum { CUDA_VERSION_MIN = 13000, CUDA_SUCCESS_CODE = 0 };
static const char DRIVER_MIN[] = "580";

/* Functions of cuda.h, which a machine that builds the worker need not have. */
typedef struct CudaDriver {
    int (*get_version)(int *version);
    int (*init)(unsigned int flags);
    int (*get_error_text)(int error, const char **text); /* NULL: the library lacks it */
} CudaDriver;

static bool
is_index(Slice device)
{
    uint64_t index = 0;
    return slice_to_uint64(device, &index);
}

Status
cuda_driver_choose(Call *call, const char **device)
{
    assert(*device != NULL);
    Slice chosen = slice_from_string(*device);
    bool is_mig = slice_starts_with(chosen, SLICE("MIG-"));
    if (chosen.size > 0 && !is_index(chosen) && !slice_starts_with(chosen, SLICE("GPU-")) && !is_mig) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "cuda-device is '%s'; it is an index (0), or the UUID of a GPU (GPU-…) or of a MIG device "
            "(MIG-…)",
            *device);
    }
    bool is_set = setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", false) == 0 &&
                  (!is_mig || setenv("CUDA_VISIBLE_DEVICES", *device, true) == 0);
    *device = is_mig ? "" : *device;
    return is_set ? STATUS_OK : call_fail_memory(call, "the environment");
}

static Status
load_driver(Call *call, CudaDriver *ret_driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return call_fail(call, STATUS_FAILED_PRECONDITION, "no CUDA driver: %s", dlerror());
    }
    /* POSIX's cast of an object's address to a function's. */
    *(void **)(void *)&ret_driver->get_version = dlsym(library, "cuDriverGetVersion");
    *(void **)(void *)&ret_driver->init = dlsym(library, "cuInit");
    *(void **)(void *)&ret_driver->get_error_text = dlsym(library, "cuGetErrorString");
    return ret_driver->get_version != NULL && ret_driver->init != NULL
               ? STATUS_OK
               : call_fail(call, STATUS_FAILED_PRECONDITION,
                     "no CUDA driver: libcuda.so.1 lacks cuInit() or cuDriverGetVersion()");
}

static Status
fail_driver(Call *call, const CudaDriver *driver, const char *function, int error)
{
    const char *text = NULL;
    if (driver->get_error_text != NULL) {
        (void)driver->get_error_text(error, &text);
    }
    return call_fail(call, STATUS_UNAVAILABLE, "the CUDA driver does not serve: %s() says %d%s%s", function,
        error, text == NULL ? "" : ", ", text == NULL ? "" : text);
}

static Status
check_version(Call *call, const CudaDriver *driver)
{
    int version = 0;
    int error = driver->get_version(&version);
    if (error != CUDA_SUCCESS_CODE) {
        return fail_driver(call, driver, "cuDriverGetVersion", error);
    }
    if (version < CUDA_VERSION_MIN) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the CUDA driver is too old: it serves CUDA %d.%d, and %d.%d is needed, which drivers from %s on "
            "serve",
            version / 1000, version % 1000 / 10, CUDA_VERSION_MIN / 1000, CUDA_VERSION_MIN % 1000 / 10,
            DRIVER_MIN);
    }
    return STATUS_OK;
}

static Status
start_driver(Call *call, const CudaDriver *driver)
{
    enum { CUDA_ERROR_NO_DEVICE = 100 };
    int error = driver->init(0);
    if (error == CUDA_ERROR_NO_DEVICE) {
        return call_fail(call, STATUS_UNAVAILABLE, "no CUDA device: the driver is here, but sees no card");
    }
    return error == CUDA_SUCCESS_CODE ? STATUS_OK : fail_driver(call, driver, "cuInit", error);
}

Status
cuda_driver_check(Call *call)
{
    CudaDriver driver = {0};
    TRY(load_driver(call, &driver));
    TRY(check_version(call, &driver));
    return start_driver(call, &driver);
}
