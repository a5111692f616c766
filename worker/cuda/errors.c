#include "worker/cuda/errors.h"

#include <assert.h>
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/mutex.h"

typedef enum ErrorClass {
    ERROR_REFUSED, /* the call was wrong; nothing was enqueued */
    ERROR_MEMORY,
    ERROR_STICKY,
    ERROR_NO_CARD,
    ERROR_CLASS_COUNT,
} ErrorClass;

typedef struct ErrorRow {
    cudaError_t error;
    ErrorClass class;
} ErrorRow;

/* Codes that are not here are refusals, unless CUDA repeats them (is_repeated()). */
static const ErrorRow error_rows[] = {
    {cudaErrorMemoryAllocation, ERROR_MEMORY},
    {cudaErrorIllegalAddress, ERROR_STICKY},
    {cudaErrorLaunchFailure, ERROR_STICKY},
    {cudaErrorAssert, ERROR_STICKY},
    {cudaErrorHardwareStackError, ERROR_STICKY},
    {cudaErrorIllegalInstruction, ERROR_STICKY},
    {cudaErrorMisalignedAddress, ERROR_STICKY},
    {cudaErrorInvalidAddressSpace, ERROR_STICKY},
    {cudaErrorInvalidPc, ERROR_STICKY},
    {cudaErrorECCUncorrectable, ERROR_STICKY},
    {cudaErrorNvlinkUncorrectable, ERROR_STICKY},
    {cudaErrorLaunchTimeout, ERROR_STICKY},
    {cudaErrorContextIsDestroyed, ERROR_STICKY},
    {cudaErrorExternalDevice, ERROR_STICKY},
    {cudaErrorUnknown, ERROR_STICKY},
    {cudaErrorNoDevice, ERROR_NO_CARD},
    {cudaErrorInsufficientDriver, ERROR_NO_CARD},
    {cudaErrorCallRequiresNewerDriver, ERROR_NO_CARD},
    {cudaErrorSystemDriverMismatch, ERROR_NO_CARD},
    {cudaErrorSystemNotReady, ERROR_NO_CARD},
    {cudaErrorDevicesUnavailable, ERROR_NO_CARD},
    {cudaErrorInitializationError, ERROR_NO_CARD},
    {cudaErrorInvalidDevice, ERROR_NO_CARD},
};

static const Status error_statuses[ERROR_CLASS_COUNT] = {
    [ERROR_REFUSED] = STATUS_INTERNAL,
    [ERROR_MEMORY] = STATUS_RESOURCE_EXHAUSTED,
    [ERROR_STICKY] = STATUS_UNAVAILABLE,
    [ERROR_NO_CARD] = STATUS_UNAVAILABLE,
};

static Mutex fault_lock = MUTEX_INITIALIZER;
static char fault_text[ERROR_MESSAGE_SIZE];
static const char *fault;     /* atomic: fault_text, once it is written */
static DeviceCounts *counted; /* atomic */

void
cuda_errors_count(DeviceCounts *counts)
{
    atomic_store_release(&counted, counts);
}

const char *
cuda_fault(void)
{
    return atomic_load_acquire(&fault);
}

void
cuda_break(int error, const char *what, Slice node)
{
    assert(error != cudaSuccess);
    mutex_lock(&fault_lock);
    if (fault == NULL) {
        int size = snprintf(fault_text, sizeof fault_text, "%s: %s (%s, CUDA error %d)", what,
            cudaGetErrorString((cudaError_t)error), cudaGetErrorName((cudaError_t)error), error);
        assert(size > 0);
        if (node.size > 0 && (size_t)size < sizeof fault_text) {
            (void)snprintf(fault_text + size, sizeof fault_text - (size_t)size,
                "; the last work enqueued before was of node '%.*s'", SLICE_PRINT(node));
        }
        atomic_store_release(&fault, (const char *)fault_text);
        DeviceCounts *counts = atomic_load_acquire(&counted);
        if (counts != NULL) {
            atomic_add_relaxed(&counts->broken, 1);
        }
    }
    mutex_unlock(&fault_lock);
}

/* Takes this thread's error away. Returns whether it comes again, as a sticky one does. */
static bool
is_repeated(void)
{
    (void)cudaGetLastError();
    return cudaGetLastError() != cudaSuccess;
}

/* Without a card or its driver every call says so again, and nothing has broken. */
static ErrorClass
error_class(int error)
{
    bool repeated = is_repeated();
    ErrorClass class = ERROR_REFUSED;
    for (size_t row = 0; row < COUNT_OF(error_rows); row++) {
        if ((int)error_rows[row].error == error) {
            class = error_rows[row].class;
        }
    }
    return repeated && class != ERROR_NO_CARD ? ERROR_STICKY : class;
}

/* Returns how much memory the card has left, for a message; "" when even that cannot be asked. */
static const char *
tell_memory(char text[96])
{
    size_t available = 0;
    size_t all = 0;
    text[0] = '\0';
    if (cudaMemGetInfo(&available, &all) == cudaSuccess) {
        (void)snprintf(text, 96, ": %zu of its %zu bytes are free", available, all);
    } else {
        (void)cudaGetLastError();
    }
    return text;
}

static void
count_refusal(void)
{
    DeviceCounts *counts = atomic_load_acquire(&counted);
    if (counts != NULL) {
        atomic_add_relaxed(&counts->refused, 1);
    }
}

Failure
cuda_failure(int error, const char *what, Slice node)
{
    char sizes[96];
    assert(error != cudaSuccess);
    if (error == CUDA_ERROR_HOST_MEMORY) {
        return failure_of(STATUS_RESOURCE_EXHAUSTED, node, "%s: the host has no memory left", what);
    }
    ErrorClass class = error_class(error);
    if (class == ERROR_STICKY) {
        cuda_break(error, what, node);
    }
    const char *broken = cuda_fault();
    if (broken != NULL) {
        return failure_of(STATUS_UNAVAILABLE, (Slice){0}, "%s: the card is out of service: %s", what, broken);
    }
    if (class == ERROR_REFUSED) {
        count_refusal();
    }
    if (class == ERROR_MEMORY) {
        return failure_of(
            error_statuses[class], node, "%s: the card has no memory left%s", what, tell_memory(sizes));
    }
    return failure_of(error_statuses[class], node, "%s: %s (%s, CUDA error %d)", what,
        cudaGetErrorString((cudaError_t)error), cudaGetErrorName((cudaError_t)error), error);
}

Status
cuda_check(Call *call, int error, const char *what)
{
    if (error == cudaSuccess) {
        return STATUS_OK;
    }
    Failure failure = cuda_failure(error, what, (Slice){0});
    return failure_raise(call, &failure);
}
