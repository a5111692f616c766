#include "worker/runtime/device_memory.h"

#include <inttypes.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "worker/runtime/capture_memory.h"
#include "worker/runtime/captures.h"
#include "worker/runtime/memory_account.h"

static bool
can_have(const Device *device, size_t size)
{
    DeviceMemory memory = {0};
    device->memory(device, &memory);
    return size <= memory.limit;
}

/* Makes room, first of what is kept to save time only; for a tenant that may hold no more, only at its own
 * expense. */
static bool
give_up(const Device *device, const MemoryAccount *account)
{
    const DeviceKeeper *keeper = &device->keeper;
    bool is_tenants = account != NULL && memory_account_tenant_limit(account) != 0;
    uint64_t tenant = is_tenants ? account->tenant : 0;
    return (device->captures != NULL && captures_give_up(device->captures, tenant)) ||
           (keeper->give_up != NULL && keeper->give_up(keeper->context, tenant));
}

static TensorBuffer *
allocate_there(Device *device, size_t size, const MemoryAccount *account)
{
    TensorBuffer *buffer = device->allocate(device, size);
    while (buffer == NULL && can_have(device, size) &&
           (account == NULL || !memory_account_has_refused(account)) && give_up(device, account)) {
        buffer = device->allocate(device, size);
    }
    return buffer;
}

TensorBuffer *
device_allocate(Device *device, size_t size, const MemoryAccount *account)
{
    CaptureMemory *captured = capture_memory_of(device);
    if (captured == NULL) {
        return allocate_there(device, size, account);
    }
    if (!capture_memory_measures(captured)) {
        return capture_memory_give(captured, size, NULL);
    }
    TensorBuffer *buffer = allocate_there(device, size, account);
    return buffer == NULL ? NULL : capture_memory_give(captured, size, buffer);
}

bool
device_make_room(Device *device)
{
    return give_up(device, NULL);
}

const char *
device_tell_full(Device *device, const MemoryAccount *account, char ret_text[DEVICE_FULL_TEXT_SIZE])
{
    DeviceMemory memory = {0};
    uint64_t tenant_limit = account == NULL ? 0 : memory_account_tenant_limit(account);
    atomic_add_relaxed(&device->counts.full, 1);
    device->memory(device, &memory);
    if (tenant_limit != 0) {
        (void)snprintf(ret_text, DEVICE_FULL_TEXT_SIZE,
            "a tenant may hold no more than %" PRIu64 " bytes of the memory of /device:%s:%d", tenant_limit,
            device->type, device->id);
        return ret_text;
    }
    int size = snprintf(ret_text, DEVICE_FULL_TEXT_SIZE,
        "%" PRIu64 " of %" PRIu64 " bytes of the memory of /device:%s:%d are in use", memory.in_use,
        memory.limit, device->type, device->id);
    if (memory.cached > 0 && size > 0) {
        (void)snprintf(ret_text + size, DEVICE_FULL_TEXT_SIZE - (size_t)size,
            "; %" PRIu64 " are kept for later, at most %" PRIu64 " of them in one piece", memory.cached,
            memory.largest_free);
    }
    return ret_text;
}

void
device_count_copy(Device *accelerator, bool is_upload, size_t size)
{
    DeviceCounts *counts = &accelerator->counts;
    atomic_add_relaxed(is_upload ? &counts->uploads : &counts->downloads, 1);
    atomic_add_relaxed(is_upload ? &counts->uploaded_bytes : &counts->downloaded_bytes, size);
}
