/* A driver, libcuda.so.1, of which cuDNN finds all functions that it looks up while it makes a plan: then it
 * makes plans for a card that it is told of in words. There is no device, and nothing can be launched. */

#define FUNCTIONS(X)                                                                                         \
    X(cuCtxGetCurrent)                                                                                       \
    X(cuCtxGetDevice)                                                                                        \
    X(cuCtxGetLimit)                                                                                         \
    X(cuCtxPopCurrent)                                                                                       \
    X(cuCtxPushCurrent)                                                                                      \
    X(cuDeviceGet)                                                                                           \
    X(cuDeviceGetAttribute)                                                                                  \
    X(cuDevicePrimaryCtxRelease)                                                                             \
    X(cuDevicePrimaryCtxReset)                                                                               \
    X(cuDevicePrimaryCtxRetain)                                                                              \
    X(cuFuncGetAttribute)                                                                                    \
    X(cuFuncSetAttribute)                                                                                    \
    X(cuGetErrorName)                                                                                        \
    X(cuGetErrorString)                                                                                      \
    X(cuKernelGetAttribute)                                                                                  \
    X(cuKernelSetAttribute)                                                                                  \
    X(cuLaunchCooperativeKernel)                                                                             \
    X(cuLaunchKernel)                                                                                        \
    X(cuLaunchKernelEx)                                                                                      \
    X(cuLibraryGetKernel)                                                                                    \
    X(cuLibraryLoadData)                                                                                     \
    X(cuLibraryLoadFromFile)                                                                                 \
    X(cuLibraryUnload)                                                                                       \
    X(cuLinkAddData)                                                                                         \
    X(cuLinkAddData_v2)                                                                                      \
    X(cuLinkAddFile_v2)                                                                                      \
    X(cuLinkComplete)                                                                                        \
    X(cuLinkCreate)                                                                                          \
    X(cuLinkCreate_v2)                                                                                       \
    X(cuLinkDestroy)                                                                                         \
    X(cuMemcpyDtoH_v2)                                                                                       \
    X(cuModuleGetFunction)                                                                                   \
    X(cuModuleGetGlobal_v2)                                                                                  \
    X(cuModuleLoadData)                                                                                      \
    X(cuModuleLoadDataEx)                                                                                    \
    X(cuModuleLoadFatBinary)                                                                                 \
    X(cuModuleUnload)                                                                                        \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                           \
    X(cuOccupancyMaxPotentialClusterSize)                                                                    \
    X(cuStreamGetCtx)                                                                                        \
    X(cuStreamSynchronize)                                                                                   \
    X(cuTensorMapEncodeTiled)

#define FUNCTION(name)                                                                                       \
    __attribute__((visibility("default"))) int name(void);                                                   \
    int name(void)                                                                                           \
    {                                                                                                        \
        return 0;                                                                                            \
    }
FUNCTIONS(FUNCTION)

__attribute__((visibility("default"))) int cuInit(unsigned int flags);
__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);
__attribute__((visibility("default"))) int cuDeviceGetCount(int *count);

int
cuInit(unsigned int flags)
{
    enum { NO_DEVICE = 100 };
    (void)flags;
    return NO_DEVICE;
}

int
cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int
cuDeviceGetCount(int *count)
{
    *count = 0;
    return 0;
}
