#include "gateway/workers/worker_json.h"

#include <assert.h>
#include <stdio.h>

static const char *
state_name(WorkerState state)
{
    assert((size_t)state <= WORKER_LOST);

    static const char *const names[] = {"serving", "draining", "lost"};
    return names[state];
}

void
worker_write_device(JsonWriter *writer, const WorkerInfo *worker, const WorkerDevice *device)
{
    char name[96];
    (void)snprintf(name, sizeof name, "/job:worker/replica:0/task:%d/device:%s:%lld", worker->task,
        device->type, (long long)device->id);
    json_write_object_begin(writer);
    json_member_string(writer, "name", name);
    json_member_string(writer, "type", device->type);
    json_member_string(writer, "isa", device->isa);
    json_member_string(writer, "worker", worker->name);
    json_member_string(writer, "incarnation", worker->incarnation);
    json_member_int64(writer, "threads", device->thread_count);
    json_member_int64(writer, "slots", device->slot_count);
    json_member_int64(writer, "memory_limit", device->memory_limit);
    json_member_int64(writer, "memory_in_use", device->memory_in_use);
    json_write_object_end(writer);
}

void
worker_write(JsonWriter *writer, const WorkerInfo *worker, const WorkerDevice *devices)
{
    json_write_object_begin(writer);
    json_member_string(writer, "name", worker->name);
    json_member_int64(writer, "task", worker->task);
    json_member_string(writer, "address", worker->address);
    json_member_string(writer, "incarnation", worker->incarnation);
    json_member_string(writer, "state", state_name(worker->state));
    json_member_int64(writer, "running", worker->running_count);
    json_write_name(writer, "devices");
    json_write_array_begin(writer);
    for (size_t index = 0; index < worker->device_count; index++) {
        worker_write_device(writer, worker, &devices[index]);
    }
    json_write_array_end(writer);
    json_write_object_end(writer);
}

Status
worker_not_found(Call *call, Slice name)
{
    return call_fail(
        call, STATUS_NOT_FOUND, "worker '%.*s' does not exist", SLICE_PRINT(slice_part(name, 0, 64)));
}
