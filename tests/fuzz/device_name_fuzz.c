/* Fuzzes device names: the parts of a request lie inside the text, and its numbers are in range. */
#include <assert.h>

#include "gateway/plan/device_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DeviceName name;
    if (device_name_parse(slice_of(data, size), &name)) {
        assert(name.job.size <= size && name.type.size <= size);
        assert(
            name.task >= DEVICE_PART_NONE && name.replica >= DEVICE_PART_NONE && name.id >= DEVICE_PART_NONE);
    }
    return 0;
}
