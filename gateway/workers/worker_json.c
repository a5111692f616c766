#include "gateway/workers/worker_json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/wire/labels.h"

static const char *
state_name(WorkerState state)
{
    assert((size_t)state <= WORKER_LOST);

    static const char *const names[] = {"serving", "draining", "lost"};
    return names[state];
}

static void
write_present(JsonWriter *writer, const char *name, Slice text)
{
    if (text.size > 0) {
        json_member_slice(writer, name, text);
    }
}

static void
write_libraries(JsonWriter *writer, const WireDevice *gpu)
{
    json_write_name(writer, "libraries");
    json_write_array_begin(writer);
    for (size_t index = 0; index < gpu->library_count; index++) {
        json_write_object_begin(writer);
        json_member_slice(writer, "name", gpu->libraries[index].name);
        write_present(writer, "version", gpu->libraries[index].version);
        write_present(writer, "reason", gpu->libraries[index].reason);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

/* Writes what a GPU has and other devices have not. */
static void
write_gpu(JsonWriter *writer, const WireDevice *gpu)
{
    write_present(writer, "card", gpu->card);
    write_present(writer, "driver", gpu->driver);
    json_member_boolean(writer, "in_service", gpu->fault.size == 0);
    write_present(writer, "fault", gpu->fault);
    write_libraries(writer, gpu);
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
    if (strcmp(device->type, "GPU") == 0 && gpu_facts_have_card(worker->gpu)) {
        write_gpu(writer, worker->gpu->device);
    } else if (worker->gpu != NULL) {
        write_present(writer, "no_gpu", worker->gpu->absence);
    }
    json_write_object_end(writer);
}

static void
write_labels(JsonWriter *writer, Slice labels)
{
    Label label;
    json_write_name(writer, "labels");
    json_write_object_begin(writer);
    while (labels_next(&labels, &label)) {
        json_write_name_slice(writer, label.key);
        json_write_slice(writer, label.value);
    }
    json_write_object_end(writer);
}

static void
write_refusal(JsonWriter *writer, const WorkerInfo *worker)
{
    char sentence[160];
    (void)snprintf(sentence, sizeof sentence,
        "it speaks versions %lld to %lld of the worker protocol, and none of this "
        "gateway's: " WIRE_VERSIONS_ADVICE,
        (long long)worker->versions.oldest, (long long)worker->versions.newest);
    json_member_string(writer, "refusal", sentence);
}

void
worker_write(JsonWriter *writer, const WorkerInfo *worker, const WorkerDevice *devices)
{
    json_write_object_begin(writer);
    json_member_string(writer, "name", worker->name);
    json_member_int64(writer, "task", worker->task);
    json_member_string(writer, "address", worker->address);
    json_member_string(writer, "incarnation", worker->incarnation);
    bool is_refused = worker_is_refused(worker);
    json_member_string(writer, "state", is_refused ? "refused" : state_name(worker->state));
    json_member_int64(writer, "protocol", worker->version);
    if (is_refused) {
        write_refusal(writer, worker);
    }
    json_member_boolean(writer, "joined", worker->has_joined);
    write_labels(writer, slice_from_string(worker->labels));
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
