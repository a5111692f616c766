#include "worker/cuda/card.h"

#include <assert.h>
#include <ctype.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/slice.h"
#include "worker/cuda/errors.h"

/* The oldest cards for which the toolkit still makes code. */
enum { MAJOR_MIN = 7, MINOR_MIN = 5 };

enum { UUID_SIZE = sizeof((cudaUUID_t *)NULL)->bytes };

static void
write_version(int version, char *ret_text, size_t capacity)
{
    (void)snprintf(ret_text, capacity, "%d.%d", version / 1000, version % 1000 / 10);
}

static Status
fail_without_cards(Call *call, cudaError_t error)
{
    int version = 0;
    char driver[16];
    (void)cudaGetLastError();
    if (error == cudaErrorNoDevice || error == cudaSuccess) {
        return call_fail(call, STATUS_UNAVAILABLE, "the CUDA driver finds no card");
    }
    if (error != cudaErrorInsufficientDriver) {
        return cuda_check(call, (int)error, "asking the CUDA driver for cards");
    }
    if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "there is no CUDA driver");
    }
    write_version(version, driver, sizeof driver);
    return call_fail(call, STATUS_UNAVAILABLE,
        "the driver serves CUDA %s at most, and this plugin needs %d.%d: a newer driver is needed", driver,
        CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

/* Reads the 32 hexadecimal digits behind the first '-'. */
static bool
read_uuid(const char *text, unsigned char ret_uuid[UUID_SIZE])
{
    size_t digits = 0;
    const char *at = strchr(text, '-');
    for (; at != NULL && *at != '\0'; at++) {
        static const char hexadecimal[] = "0123456789abcdef";
        const char *digit = strchr(hexadecimal, tolower((unsigned char)*at));
        if (*at == '-') {
            continue;
        }
        if (digit == NULL || digits == 2 * (size_t)UUID_SIZE) {
            return false;
        }
        unsigned value = (unsigned)(digit - hexadecimal);
        ret_uuid[digits / 2] = (unsigned char)(digits % 2 == 0 ? value << 4 : ret_uuid[digits / 2] | value);
        digits++;
    }
    return digits == 2 * (size_t)UUID_SIZE;
}

static Status
find_uuid(Call *call, const char *device, int count, int *ret_ordinal)
{
    unsigned char uuid[UUID_SIZE];
    if (!read_uuid(device, uuid)) {
        return call_fail(call, STATUS_UNAVAILABLE, "'%s' is neither the index of a card nor a UUID", device);
    }
    for (int ordinal = 0; ordinal < count; ordinal++) {
        struct cudaDeviceProp properties;
        TRY(cuda_check(call, (int)cudaGetDeviceProperties(&properties, ordinal), "asking a card what it is"));
        if (memcmp(properties.uuid.bytes, uuid, UUID_SIZE) == 0) {
            *ret_ordinal = ordinal;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_UNAVAILABLE, "none of the %d cards here is '%s'", count, device);
}

static Status
find_card(Call *call, const char *device, int *ret_ordinal)
{
    int count = 0;
    uint64_t index = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        return fail_without_cards(call, error);
    }
    if (device[0] != '\0' && !slice_to_uint64(slice_from_string(device), &index)) {
        return find_uuid(call, device, count, ret_ordinal);
    }
    if (index >= (uint64_t)count) {
        return call_fail(call, STATUS_UNAVAILABLE, "there is no card %s: the driver shows %d, counted from 0",
            device, count);
    }
    *ret_ordinal = (int)index;
    return STATUS_OK;
}

/* Returns how much memory libraries may write to while their work runs: a 256th of the card's, as a power of
 * two. cuBLAS advises 32 MiB for an H100; the engines of cuDNN that change an image's layout want up to 150
 * MiB for those of ResNet-50 in batches of 32. It follows from the card alone, and so does what libraries
 * choose. */
static size_t
choose_workspace(size_t memory)
{
    enum { PART = 256 };
    size_t size = (size_t)4 << 20;
    while (size < (size_t)256 << 20 && 2 * size <= memory / PART) {
        size *= 2;
    }
    return size;
}

Status
cuda_card_choose(Call *call, const char *device, CudaCard *ret_card)
{
    int ordinal = 0;
    int version = 0;
    struct cudaDeviceProp properties;
    assert(device != NULL);
    TRY(find_card(call, device, &ordinal));
    TRY(cuda_check(call, (int)cudaGetDeviceProperties(&properties, ordinal), "asking a card what it is"));
    TRY(cuda_check(call, (int)cudaDriverGetVersion(&version), "asking the driver for its version"));
    if (properties.major < MAJOR_MIN || (properties.major == MAJOR_MIN && properties.minor < MINOR_MIN)) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "card %d, %s, has compute capability %d.%d, and %d.%d is the least that is served", ordinal,
            properties.name, properties.major, properties.minor, MAJOR_MIN, MINOR_MIN);
    }
    *ret_card = (CudaCard){
        .ordinal = ordinal,
        .processor_count = properties.multiProcessorCount,
        .workspace_size = choose_workspace(properties.totalGlobalMem),
    };
    (void)snprintf(ret_card->name, sizeof ret_card->name, "%s", properties.name);
    (void)snprintf(ret_card->isa, sizeof ret_card->isa, "sm_%d%d/%d", properties.major, properties.minor,
        properties.multiProcessorCount);
    write_version(version, ret_card->driver, sizeof ret_card->driver);
    return STATUS_OK;
}
