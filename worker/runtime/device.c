#include "worker/runtime/device.h"

#include "worker/runtime/memory_account.h"

static bool
can_have(const Device *device, size_t size)
{
    DeviceMemory memory = {0};
    device->memory(device, &memory);
    return size <= memory.limit;
}

TensorBuffer *
device_allocate(Device *device, size_t size, const MemoryAccount *account)
{
    TensorBuffer *buffer = device->allocate(device, size);
    const DeviceKeeper *keeper = &device->keeper;
    while (buffer == NULL && keeper->give_up != NULL && can_have(device, size) &&
           (account == NULL || !memory_account_has_refused(account)) && keeper->give_up(keeper->context)) {
        buffer = device->allocate(device, size);
    }
    return buffer;
}
