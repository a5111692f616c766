/* GetStatus: the identity of this worker, its devices, and how busy they are. The gateways' discovery
 * polls it. */
#include "shared/base/atomic.h"
#include "worker/serve/worker.h"

static Status
answer_status(WorkerRequest *request)
{
    Worker *worker = request->worker;
    Device *device = worker->device;
    DeviceMemory memory;
    CacheStats partitions;
    device->memory(device, &memory);
    cache_stats(worker->partitions, &partitions);
    bool is_draining = atomic_load_acquire(&worker->is_draining);
    WireDevice shown = {
        .type = slice_from_string(device->type),
        .id = device->id,
        .isa = slice_from_string(device->isa),
        .thread_count = device->thread_count,
        .slot_count = worker->options.slot_count > 0 ? worker->options.slot_count : device->thread_count,
        .memory_limit = (int64_t)memory.limit,
        .memory_in_use = (int64_t)memory.in_use,
    };
    WireWorker status = {
        .name = slice_from_string(worker->name),
        .incarnation = slice_from_string(worker->incarnation),
        .state = is_draining ? SLICE("draining") : SLICE("serving"),
        .running_count = atomic_load_relaxed(&worker->running_count),
        .partition_count = (int64_t)partitions.count,
        .devices = &shown,
        .device_count = 1,
    };
    AUTO_BUFFER json = {0};
    wire_worker_write(&json, &status);
    worker_answer_json(request, 200, buffer_slice(&json));
    return STATUS_OK;
}

WORKER_METHOD(get_status) = {
    .name = "GetStatus",
    .verb = "GET",
    .path = "/worker/v1/status",
    .finish = answer_status,
};
