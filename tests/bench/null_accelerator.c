#include "tests/bench/null_accelerator.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY_NUMBER = 1 };

static Device *the_host;

static TensorBuffer *
allocate(Device *device, size_t size)
{
    (void)device;
    TensorBuffer *buffer = the_host->allocate(the_host, size);
    if (buffer != NULL) {
        buffer->memory = MEMORY_NUMBER;
    }
    return buffer;
}

static void
tell_memory(const Device *device, DeviceMemory *ret_memory)
{
    (void)device;
    the_host->memory(the_host, ret_memory);
}

static MemoryAccount *
charge(Device *device, MemoryAccount *account)
{
    (void)device;
    (void)account;
    return NULL;
}

static DeviceLane *
open_lane(Device *device)
{
    return (DeviceLane *)(void *)device;
}

static void
close_lane(Device *device, DeviceLane *lane)
{
    (void)device;
    (void)lane;
}

static Status
leave(Call *call, Device *device, DeviceLane *lane)
{
    (void)call;
    close_lane(device, lane);
    return STATUS_OK;
}

static Status
begin_capture(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *inputs)
{
    (void)inputs;
    return leave(call, device, lane);
}

static Status
end_capture(Call *call, Device *device, DeviceLane *lane, DeviceGraph **ret_graph)
{
    *ret_graph = (DeviceGraph *)(void *)device;
    return leave(call, device, lane);
}

static Status
replay(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *replayed)
{
    (void)replayed;
    return leave(call, device, lane);
}

static void
free_graph(Device *device, DeviceGraph *graph)
{
    (void)device;
    (void)graph;
}

static void
copy(Device *device, DeviceCopy *begun)
{
    (void)device;
    begun->done(begun, NULL);
}

static void
fence(Device *device, DeviceFence *begun)
{
    (void)device;
    begun->passed(begun, NULL);
}

static const char *
tell_fault(Device *device)
{
    (void)device;
    return NULL;
}

static Status
add_compute(KernelContext *context)
{
    Tensor *output = NULL;
    return kernel_output(context, 0, DTYPE_FLOAT32, &context->inputs[0].shape, &output);
}

static const Kernel kernels[] = {{.op = "Add", .compute = add_compute}};
static const KernelFamily family = {.kernels = kernels, .kernel_count = COUNT_OF(kernels), .file = __FILE__};
static const KernelFamily *const families[] = {&family};

Device *
null_accelerator(Call *call, Device *host)
{
    static Device device = {.type = "GPU",
        .isa = "null",
        .thread_count = 1,
        .memory_number = MEMORY_NUMBER,
        .allocate = allocate,
        .memory = tell_memory,
        .charge = charge,
        .open_lane = open_lane,
        .close_lane = close_lane,
        .enter = close_lane,
        .leave = leave,
        .begin_capture = begin_capture,
        .end_capture = end_capture,
        .replay = replay,
        .free_graph = free_graph,
        .copy = copy,
        .fence = fence,
        .fault = tell_fault};
    the_host = host;
    if (kernel_register(call, device.type, families, COUNT_OF(families)) != STATUS_OK) {
        (void)fprintf(stderr, "null_accelerator: %s\n", call->error.message);
        exit(1);
    }
    return &device;
}
