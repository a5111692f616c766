/* The task and device that a node's author asks for.
 *
 * Threads: pure functions.
 * Errors:  INVALID_ARGUMENT, with the reason, when no worker could ever honour the request. */
#pragma once

#include "gateway/plan/compile.h"

typedef struct DeviceRequest {
    int32_t task; /* PLAN_TASK_NONE: any */
    DeviceAsk device;
} DeviceRequest;

MUST_USE Status device_request(const Compile *compile, const NodeDef *node, DeviceRequest *ret_request);
