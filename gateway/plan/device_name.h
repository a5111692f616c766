/* Device names as graphs carry them: "/job:worker/replica:0/task:3/device:GPU:0", any part of it, "*" for
 * any value, "/cpu:0" and "/GPU:1" for short. A later part overwrites an earlier one (TensorFlow's
 * DeviceNameUtils). */
#pragma once

#include <stdint.h>

#include "shared/base/slice.h"

enum { DEVICE_PART_NONE = -1 };

typedef struct DeviceName {
    Slice job;       /* "": not named */
    int32_t replica; /* DEVICE_PART_NONE: not named */
    int32_t task;
    Slice type; /* "CPU", "GPU", …; "": not named */
    int32_t id;
} DeviceName;

bool device_name_parse(Slice text, DeviceName *ret_name);
