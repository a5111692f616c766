#include "tests/support/cuda_on_cpu/runtime.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/mutex.h"
#include "tests/support/cuda_on_cpu/capture.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

enum { FUNCTIONS_MAX = 96, DEVICES_MAX = 8 };

typedef struct Function {
    const char *name;
    uint64_t calls;
    uint64_t fails_at; /* the call with this number; 0: none */
    cudaError_t error;
} Function;

static Mutex mutex = MUTEX_INITIALIZER;
static Function functions[FUNCTIONS_MAX];
static size_t function_count;
static cudaError_t broken;
static cudaError_t breaks_in_kernel;
static int device_count = 1;
static int device_capability = 90; /* also by CUDA_ON_CPU_CAPABILITY; 75 is 7.5 */
static int image_capability;       /* the least for which kernels have code */
static const char *fault_file;     /* CUDA_ON_CPU_FAULT; NULL: none */
static bool has_read_environment;
static _Thread_local cudaError_t last_error;
static _Thread_local int device;

static Function *
find_function(const char *name)
{
    for (size_t i = 0; i < function_count; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return &functions[i];
        }
    }
    assert(function_count < FUNCTIONS_MAX);
    functions[function_count] = (Function){.name = name};
    return &functions[function_count++];
}

/* A worker that loads the plugin has no test in it that could choose. */
static void
read_environment(void)
{
    if (has_read_environment) {
        return;
    }
    has_read_environment = true;
    const char *seed = getenv("CUDA_ON_CPU_SEED");
    const char *devices = getenv("CUDA_ON_CPU_DEVICES");
    const char *memory = getenv("CUDA_ON_CPU_MEMORY");
    const char *capability = getenv("CUDA_ON_CPU_CAPABILITY");
    const char *images = getenv("CUDA_ON_CPU_IMAGES");
    if (seed != NULL) {
        grid_seed(strtoull(seed, NULL, 10));
    }
    if (devices != NULL) {
        device_count = (int)strtol(devices, NULL, 10);
    }
    if (memory != NULL) {
        device_memory_set_size(strtoull(memory, NULL, 10));
    }
    if (capability != NULL) {
        device_capability = (int)strtol(capability, NULL, 10);
    }
    if (images != NULL) {
        image_capability = (int)strtol(images, NULL, 10);
    }
    fault_file = getenv("CUDA_ON_CPU_FAULT");
}

cudaError_t
runtime_enter(const char *function)
{
    mutex_lock(&mutex);
    read_environment();
    Function *called = find_function(function);
    called->calls++;
    if (broken != cudaSuccess) {
        return broken;
    }
    return called->calls == called->fails_at ? called->error : cudaSuccess;
}

cudaError_t
runtime_leave(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
    }
    mutex_unlock(&mutex);
    return error;
}

cudaError_t
runtime_broken(void)
{
    return broken;
}

void
runtime_kernel_runs(void)
{
    if (fault_file != NULL && access(fault_file, F_OK) == 0) {
        breaks_in_kernel = cudaErrorIllegalAddress;
    }
    if (breaks_in_kernel != cudaSuccess) {
        broken = breaks_in_kernel;
        breaks_in_kernel = cudaSuccess;
    }
}

int
runtime_device(void)
{
    return device;
}

void
cuda_on_cpu_reset(bool expects_no_leak)
{
    mutex_lock(&mutex);
    streams_drop();
    size_t left = device_memory_clear() + pinned_memory_clear();
    if (expects_no_leak && left > 0) {
        fprintf(stderr, "cuda_on_cpu: %zu blocks of device or pinned memory were never freed\n", left);
        abort();
    }
    memset(functions, 0, sizeof functions);
    function_count = 0;
    broken = cudaSuccess;
    breaks_in_kernel = cudaSuccess;
    last_error = cudaSuccess;
    device = 0;
    device_count = 1;
    device_memory_set_size((size_t)256 << 20);
    mutex_unlock(&mutex);
}

void
cuda_on_cpu_seed(uint64_t seed)
{
    mutex_lock(&mutex);
    read_environment();
    grid_seed(seed);
    mutex_unlock(&mutex);
}

void
cuda_on_cpu_set_devices(int count)
{
    mutex_lock(&mutex);
    assert(count >= 0 && count <= DEVICES_MAX);
    read_environment();
    device_count = count;
    mutex_unlock(&mutex);
}

void
cuda_on_cpu_set_memory(size_t size)
{
    mutex_lock(&mutex);
    read_environment();
    device_memory_set_size(size);
    mutex_unlock(&mutex);
}

void
cuda_on_cpu_fail(const char *function, unsigned index, cudaError_t error)
{
    mutex_lock(&mutex);
    Function *planned = find_function(function);
    planned->fails_at = planned->calls + 1 + index;
    planned->error = error;
    mutex_unlock(&mutex);
}

void
cuda_on_cpu_break(cudaError_t error)
{
    mutex_lock(&mutex);
    broken = error;
    mutex_unlock(&mutex);
}

void
cuda_on_cpu_break_in_kernel(cudaError_t error)
{
    mutex_lock(&mutex);
    breaks_in_kernel = error;
    mutex_unlock(&mutex);
}

uint64_t
cuda_on_cpu_calls(const char *function)
{
    mutex_lock(&mutex);
    uint64_t calls = find_function(function)->calls;
    mutex_unlock(&mutex);
    return calls;
}

cudaError_t
cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    mutex_lock(&mutex);
    if (broken != cudaSuccess) {
        error = broken;
    }
    mutex_unlock(&mutex);
    return error;
}

cudaError_t
cudaPeekAtLastError(void)
{
    mutex_lock(&mutex);
    cudaError_t error = broken != cudaSuccess ? broken : last_error;
    mutex_unlock(&mutex);
    return error;
}

cudaError_t
cudaGetDeviceCount(int *count)
{
    cudaError_t error = runtime_enter("cudaGetDeviceCount");
    if (error == cudaSuccess && device_count == 0) {
        error = cudaErrorNoDevice;
    }
    *count = error == cudaSuccess ? device_count : 0;
    return runtime_leave(error);
}

static cudaError_t
check_device(int number)
{
    return number >= 0 && number < device_count ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t
cudaSetDevice(int number)
{
    cudaError_t error = runtime_enter("cudaSetDevice");
    if (error == cudaSuccess) {
        error = check_device(number);
    }
    if (error == cudaSuccess) {
        device = number;
    }
    return runtime_leave(error);
}

cudaError_t
cudaGetDevice(int *number)
{
    cudaError_t error = runtime_enter("cudaGetDevice");
    *number = device;
    return runtime_leave(error);
}

/* An H100's attributes, in so far as the plugin's decisions depend on them. */
cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number)
{
    cudaError_t error = runtime_enter("cudaGetDeviceProperties");
    if (error == cudaSuccess) {
        error = check_device(number);
    }
    if (error == cudaSuccess) {
        *properties = (struct cudaDeviceProp){
            .name = "CPU in place of a GPU",
            .uuid = {.bytes = {'c', 'p', 'u', (char)number}},
            .totalGlobalMem = device_memory_size(),
            .sharedMemPerBlock = 48 << 10,
            .sharedMemPerBlockOptin = 227 << 10,
            .warpSize = 32,
            .maxThreadsPerBlock = 1024,
            .maxThreadsDim = {1024, 1024, 64},
            .maxGridSize = {INT32_MAX, 65535, 65535},
            .major = device_capability / 10,
            .minor = device_capability % 10,
            .multiProcessorCount = 132,
            .asyncEngineCount = 3,
            .unifiedAddressing = 1,
            .concurrentKernels = 1,
            .l2CacheSize = 50 << 20,
            .pciBusID = number + 1,
        };
    }
    return runtime_leave(error);
}

typedef struct Attribute {
    enum cudaDeviceAttr attribute;
    int value;
} Attribute;

static const Attribute attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 << 10},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMultiProcessorCount, 132},
    {cudaDevAttrComputeCapabilityMajor, 9},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrL2CacheSize, 50 << 20},
    {cudaDevAttrAsyncEngineCount, 3},
    {cudaDevAttrUnifiedAddressing, 1},
};

static cudaError_t
find_attribute(enum cudaDeviceAttr attribute, int *ret_value)
{
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].attribute == attribute) {
            *ret_value = attributes[i].value;
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidValue;
}

cudaError_t
cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int number)
{
    cudaError_t error = runtime_enter("cudaDeviceGetAttribute");
    if (error == cudaSuccess) {
        error = check_device(number);
    }
    if (error == cudaSuccess) {
        error = find_attribute(attribute, value);
    }
    return runtime_leave(error);
}

cudaError_t
cudaFuncGetAttributes(struct cudaFuncAttributes *found, const void *function)
{
    cudaError_t error = runtime_enter("cudaFuncGetAttributes");
    if (error == cudaSuccess && device_capability < image_capability) {
        error = cudaErrorNoKernelImageForDevice;
    }
    if (error == cudaSuccess && function != NULL) {
        *found = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024};
    }
    return runtime_leave(error);
}

cudaError_t
cudaDeviceGetPCIBusId(char *text, int capacity, int number)
{
    cudaError_t error = runtime_enter("cudaDeviceGetPCIBusId");
    if (error == cudaSuccess) {
        error = check_device(number);
    }
    if (error == cudaSuccess) {
        snprintf(text, (size_t)capacity, "0000:%02x:00.0", (unsigned)number + 1);
    }
    return runtime_leave(error);
}

cudaError_t
cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    cudaError_t error = runtime_enter("cudaDeviceGetStreamPriorityRange");
    *least = 0;
    *greatest = -5;
    return runtime_leave(error);
}

/* Also begins the context of the device, and frees nothing that a test would miss. */
cudaError_t
cudaDeviceReset(void)
{
    cudaError_t error = runtime_enter("cudaDeviceReset");
    if (error == cudaSuccess) {
        streams_finish();
    }
    return runtime_leave(error);
}

cudaError_t
cudaDriverGetVersion(int *version)
{
    cudaError_t error = runtime_enter("cudaDriverGetVersion");
    *version = CUDART_VERSION;
    return runtime_leave(error);
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
    cudaError_t error = runtime_enter("cudaRuntimeGetVersion");
    *version = CUDART_VERSION;
    return runtime_leave(error);
}

cudaError_t
cudaMemGetInfo(size_t *free_size, size_t *total_size)
{
    cudaError_t error = runtime_enter("cudaMemGetInfo");
    *total_size = device_memory_size();
    *free_size = device_memory_size() - device_memory_in_use();
    return runtime_leave(error);
}

cudaError_t
cudaMalloc(void **data, size_t size)
{
    cudaError_t error = runtime_enter("cudaMalloc");
    if (error == cudaSuccess) {
        error = capture_refuse_unsafe_call();
    }
    if (error == cudaSuccess) {
        *data = size == 0 ? NULL : device_memory_take(size);
        error = *data != NULL || size == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    return runtime_leave(error);
}

/* Waits for all work, as CUDA's does. */
cudaError_t
cudaFree(void *data)
{
    cudaError_t error = runtime_enter("cudaFree");
    if (error == cudaSuccess) {
        error = capture_refuse_unsafe_call();
    }
    if (error == cudaSuccess) {
        streams_finish();
        error = data == NULL || device_memory_give(data) ? runtime_broken() : cudaErrorInvalidValue;
    }
    return runtime_leave(error);
}

cudaError_t
cudaHostAlloc(void **data, size_t size, unsigned flags)
{
    (void)flags;
    cudaError_t error = runtime_enter("cudaHostAlloc");
    if (error == cudaSuccess) {
        error = capture_refuse_unsafe_call();
    }
    if (error == cudaSuccess) {
        *data = pinned_memory_take(size);
        error = *data != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    return runtime_leave(error);
}

cudaError_t
cudaFreeHost(void *data)
{
    cudaError_t error = runtime_enter("cudaFreeHost");
    if (error == cudaSuccess) {
        streams_finish();
        error = data == NULL || pinned_memory_give(data) ? runtime_broken() : cudaErrorInvalidValue;
    }
    return runtime_leave(error);
}

typedef struct ErrorText {
    cudaError_t error;
    const char *name;
    const char *text;
} ErrorText;

#define ERROR_TEXT(code, text)                                                                               \
    {                                                                                                        \
        code, #code, text                                                                                    \
    }
static const ErrorText error_texts[] = {
    ERROR_TEXT(cudaSuccess, "no error"),
    ERROR_TEXT(cudaErrorInvalidValue, "invalid argument"),
    ERROR_TEXT(cudaErrorMemoryAllocation, "out of memory"),
    ERROR_TEXT(cudaErrorInitializationError, "initialization error"),
    ERROR_TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR_TEXT(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR_TEXT(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    ERROR_TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR_TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR_TEXT(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    ERROR_TEXT(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    ERROR_TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR_TEXT(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    ERROR_TEXT(cudaErrorNotReady, "device not ready"),
    ERROR_TEXT(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR_TEXT(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR_TEXT(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ERROR_TEXT(cudaErrorAssert, "device-side assert triggered"),
    ERROR_TEXT(cudaErrorHardwareStackError, "hardware stack error"),
    ERROR_TEXT(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ERROR_TEXT(cudaErrorMisalignedAddress, "misaligned address"),
    ERROR_TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR_TEXT(
        cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"),
    ERROR_TEXT(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ERROR_TEXT(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ERROR_TEXT(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    ERROR_TEXT(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ERROR_TEXT(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    ERROR_TEXT(
        cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    ERROR_TEXT(cudaErrorStreamCaptureWrongThread,
        "attempt to terminate a thread-local capture sequence from another thread"),
    ERROR_TEXT(cudaErrorUnknown, "unknown error"),
};

static const ErrorText *
find_error(cudaError_t error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++) {
        if (error_texts[i].error == error) {
            return &error_texts[i];
        }
    }
    return NULL;
}

const char *
cudaGetErrorName(cudaError_t error)
{
    const ErrorText *found = find_error(error);
    return found != NULL ? found->name : "unrecognized error code";
}

const char *
cudaGetErrorString(cudaError_t error)
{
    const ErrorText *found = find_error(error);
    return found != NULL ? found->text : "unrecognized error code";
}
