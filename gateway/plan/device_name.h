/* Device requests as graphs carry them: "/job:worker/replica:0/task:3/device:GPU:0", any part of it, "*" for
 * what does not matter, "/cpu:0" and "/GPU:1" for short (TensorFlow's DeviceNameUtils; later parts overwrite
 * earlier ones). */
#pragma once

#include <stdint.h>

#include "shared/base/slice.h"

enum { DEVICE_PART_NONE = -1 };

typedef struct DeviceName {
    Slice job;       /* "": not set */
    int32_t replica; /* DEVICE_PART_NONE: not set */
    int32_t task;
    Slice type; /* "CPU", "GPU", …; "": not set */
    int32_t id;
} DeviceName;

bool device_name_parse(Slice text, DeviceName *ret_name);
