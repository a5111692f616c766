/* GetStatus: the identity of this worker, its devices, and how busy they are. The gateways' discovery
 * polls it. */
#include "shared/base/atomic.h"
#include "shared/base/text.h"
#include "shared/telemetry/log.h"
#include "worker/serve/worker.h"

static Slice
slice_from_optional(const char *text)
{
    return slice_from_string(text == NULL ? "" : text);
}

static WireDevice
show_host(const Worker *worker)
{
    const Device *host = worker->device;
    DeviceMemory memory;
    host->memory(host, &memory);
    return (WireDevice){
        .type = slice_from_string(host->type),
        .id = host->id,
        .isa = slice_from_string(host->isa),
        .thread_count = host->thread_count,
        .slot_count = worker->options.slot_count > 0 ? worker->options.slot_count : host->thread_count,
        .memory_limit = (int64_t)memory.limit,
        .memory_in_use = (int64_t)memory.in_use,
    };
}

/* Fills `ret_libraries`, of WIRE_LIBRARY_COUNT_MAX, and points the device to them. It tells no threads and no
 * slots: every step of this worker holds a slot of the host already. */
static WireDevice
show_accelerator(const PluginDevice *accelerator, WireLibrary *ret_libraries)
{
    Device *device = accelerator->device;
    DeviceMemory memory;
    size_t count = accelerator->library_count < WIRE_LIBRARY_COUNT_MAX ? accelerator->library_count
                                                                       : WIRE_LIBRARY_COUNT_MAX;
    device->memory(device, &memory);
    for (size_t index = 0; index < count; index++) {
        const PluginLibrary *library = &accelerator->libraries[index];
        ret_libraries[index] = (WireLibrary){
            .name = slice_from_string(library->name),
            .version = slice_from_optional(library->version),
            .reason = slice_from_optional(library->reason),
        };
    }
    return (WireDevice){
        .type = slice_from_string(device->type),
        .id = device->id,
        .isa = slice_from_string(device->isa),
        .memory_limit = (int64_t)memory.limit,
        .memory_in_use = (int64_t)memory.in_use,
        .card = slice_from_optional(accelerator->card),
        .driver = slice_from_optional(accelerator->driver),
        .fault = slice_from_optional(device->fault(device)),
        .libraries = ret_libraries,
        .library_count = count,
    };
}

/* Says once that a gateway refuses this worker, since it knows another of the same name. */
static void
note_namesake(WorkerRequest *request)
{
    Worker *worker = request->worker;
    if (request->name_taken.size > 0 && !atomic_exchange_acq_rel(&worker->is_namesake, true)) {
        const char *other = text_copy(request->call.arena, request->name_taken);
        log_event(LOG_ERROR, "another worker has the name of this one, which gets no steps",
            log_text("name", worker->name), log_text("other", other == NULL ? "" : other));
    }
}

/* Says once that a gateway cannot use this worker, since they have no version of the protocol in common. */
static void
note_strange_versions(WorkerRequest *request)
{
    Worker *worker = request->worker;
    bool agrees = wire_versions_agree(worker->options.versions, request->versions) != 0;
    if (!agrees && !atomic_exchange_acq_rel(&worker->was_refused, true)) {
        char own[WIRE_VERSIONS_TEXT_SIZE];
        char other[WIRE_VERSIONS_TEXT_SIZE];
        wire_versions_text(worker->options.versions, own);
        wire_versions_text(request->versions, other);
        log_event(LOG_ERROR,
            "a gateway speaks other versions of the worker protocol, and gives this worker no steps",
            log_text("worker", own), log_text("gateway", other));
    }
}

static Status
answer_status(WorkerRequest *request)
{
    Worker *worker = request->worker;
    const PluginDevice *accelerator = worker->options.accelerator;
    WireLibrary libraries[WIRE_LIBRARY_COUNT_MAX];
    WireDevice devices[2] = {show_host(worker)};
    CacheStats partitions;
    if (accelerator != NULL) {
        devices[1] = show_accelerator(accelerator, libraries);
    }
    cache_stats(worker->partitions, &partitions);
    bool is_draining = atomic_load_acquire(&worker->is_draining);
    WireWorker status = {
        .name = slice_from_string(worker->name),
        .incarnation = slice_from_string(worker->incarnation),
        .state = is_draining ? SLICE("draining") : SLICE("serving"),
        .versions = worker->options.versions,
        .running_count = atomic_load_relaxed(&worker->running_count),
        .partition_count = (int64_t)partitions.count,
        .no_gpu = slice_from_optional(worker->options.accelerator_absence),
        .labels = worker->options.labels,
        .devices = devices,
        .device_count = accelerator == NULL ? 1 : 2,
    };
    note_namesake(request);
    note_strange_versions(request);
    AUTO_BUFFER json = {0};
    wire_worker_write(&json, &status);
    worker_answer_json(request, 200, buffer_slice(&json));
    return STATUS_OK;
}

WORKER_METHOD(get_status) = {
    .name = "GetStatus",
    .verb = "GET",
    .path = "/worker/v1/status",
    .suits_all_versions = true,
    .finish = answer_status,
};
