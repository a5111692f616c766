#include "worker/cuda/device.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "worker/cuda/capture.h"
#include "worker/cuda/card.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/fusion/codes.h"
#include "worker/cuda/libraries.h"
#include "worker/cuda/rules.h"
#include "worker/cuda/run.h"

enum { EVENTS_AHEAD = 64, MEMORY_PERCENT_USUAL = 90, CHUNKS_USUAL = 16 };

typedef struct CudaDevice {
    Device device;
    CudaCard card;
    CudaEvents events;
    CudaLane lane;
    CudaRuns runs;
    CudaCaptures captures;
    CudaAllocator *allocator;
    CudaCopies *copies;
    CudaCodes *codes; /* NULL: nothing is fused */
} CudaDevice;

static CudaDevice *
cuda_device(const Device *device)
{
    return without_const(device);
}

/* What is captured may not use memory that others get afterwards: its own comes from its part
 * (capture_memory.h). */
static TensorBuffer *
allocate(Device *device, size_t size)
{
    CudaDevice *cuda = cuda_device(device);
    bool is_captured = cuda_lane_is_mine(&cuda->lane) && cuda->lane.captured != NULL;
    return is_captured ? NULL : cuda_allocator_allocate(cuda->allocator, size);
}

static void
tell_memory(const Device *device, DeviceMemory *ret_memory)
{
    cuda_allocator_memory(cuda_device(device)->allocator, ret_memory);
}

static MemoryAccount *
charge(Device *device, MemoryAccount *account)
{
    (void)device;
    return cuda_allocator_charge(account);
}

static DeviceLane *
open_lane(Device *device)
{
    return cuda_run_open(&cuda_device(device)->runs);
}

static void
close_lane(Device *device, DeviceLane *lane)
{
    cuda_run_close(&cuda_device(device)->runs, lane);
}

static void
enter(Device *device, DeviceLane *lane)
{
    CudaRun *run = cuda_run(lane);
    (void)device;
    cuda_lane_enter(run->lane);
    cuda_lane_note_work(run->lane);
    run->span = cuda_span_begin(run->trace, cuda_trace_mark(), cuda_lane_stream(run->lane), "stream", 0);
}

static Status
leave(Call *call, Device *device, DeviceLane *lane)
{
    (void)device;
    cuda_span_end(&cuda_run(lane)->span);
    TRY(cuda_check(call, cuda_lane_leave(cuda_lane(lane)), "enqueuing work of this node"));
    const char *fault = cuda_fault();
    if (fault != NULL) {
        return call_fail(call, STATUS_UNAVAILABLE, "the card is out of service: %s", fault);
    }
    return STATUS_OK;
}

static Status
begin_capture(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *inputs)
{
    (void)lane;
    (void)inputs; /* no kernel runs before the first replay */
    return cuda_capture_begin(call, &cuda_device(device)->captures, device);
}

static Status
end_capture(Call *call, Device *device, DeviceLane *lane, DeviceGraph **ret_graph)
{
    (void)lane;
    return cuda_capture_end(call, &cuda_device(device)->captures, ret_graph);
}

static Status
replay_captured(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *replay)
{
    enter(device, lane);
    Status status = cuda_capture_replay(call, device, lane, replay);
    Status left = leave(call, device, lane);
    return status == STATUS_OK ? left : status;
}

static void
free_graph(Device *device, DeviceGraph *graph)
{
    (void)device;
    cuda_capture_free(graph);
}

static void
begin_copy(Device *device, DeviceCopy *copy)
{
    cuda_copies_begin(cuda_device(device)->copies, copy);
}

static bool
begin_trace(Device *device, DeviceLane *lane)
{
    CudaRun *run = cuda_run(lane);
    run->trace = cuda_trace_begin(cuda_device(device)->card.ordinal);
    return run->trace != NULL;
}

static void
mark(Device *device, uint64_t number)
{
    (void)device;
    cuda_trace_set_mark(number);
}

static void
end_trace(Device *device, DeviceLane *lane, DeviceReport *ret_report)
{
    (void)device;
    cuda_trace_end(TAKE(cuda_run(lane)->trace), ret_report);
}

static void
pass_fence(void *context, int error)
{
    DeviceFence *fence = context;
    if (error == cudaSuccess) {
        fence->passed(fence, NULL);
        return;
    }
    Failure failure = cuda_failure(error, "waiting for the card", (Slice){0});
    fence->passed(fence, &failure);
}

static void
pass_fence_of_run(DeviceCopy *copy, const Failure *failure)
{
    CudaRun *run = (CudaRun *)(void *)((char *)copy - offsetof(CudaRun, telling));
    DeviceFence *fence = run->fence;
    Failure refusal;
    bool has_refused = failure == NULL && cuda_run_has_refused(run->found->data, UINT64_MAX, &refusal);
    fence->passed(fence, has_refused ? &refusal : failure);
}

/* A copy of the run's record comes behind all that the lane holds. */
static void
begin_telling_fence(CudaCopies *copies, CudaRun *run, DeviceFence *fence)
{
    run->fence = fence;
    run->telling = (DeviceCopy){
        .from = run->record, .to = run->found, .size = sizeof(CudaRefused), .done = pass_fence_of_run};
    cuda_copies_begin(copies, &run->telling);
}

/* A lane of which all has ended already needs no event: so it is behind a copy to the host that was the last
 * work. */
static void
begin_fence(Device *device, DeviceFence *fence)
{
    CudaRun *run = cuda_run(fence->lane);
    CudaLane *lane = run->lane;
    if (cuda_run_owes(run)) {
        begin_telling_fence(cuda_device(device)->copies, run, fence);
        return;
    }
    if (atomic_load_acquire(&lane->passed) >= atomic_load_relaxed(&lane->position) ||
        !CUDA_KEEPS(CUDA_FENCE_IS_LAST)) {
        const char *fault = cuda_fault();
        Failure failure = {0};
        if (fault != NULL) {
            failure = failure_of(STATUS_UNAVAILABLE, (Slice){0}, "the card is out of service: %s", fault);
        }
        fence->passed(fence, fault == NULL ? NULL : &failure);
        return;
    }
    cuda_lane_enter(lane);
    int error = cuda_lane_mark(lane, pass_fence, fence);
    int left = cuda_lane_leave(lane);
    if (error != cudaSuccess) {
        pass_fence(fence, cuda_lane_drain(lane)); /* without an event, this thread has to wait */
    } else if (left != cudaSuccess) {
        (void)cuda_failure(left, "a fence", (Slice){0});
    }
}

static const char *
tell_fault(Device *device)
{
    (void)device;
    return cuda_fault();
}

static Device
describe_device(const CudaCard *card, bool allows_tf32)
{
    return (Device){
        .type = "GPU",
        .incarnation = random_nonzero_uint64(),
        .isa = card->isa,
        .thread_count = card->processor_count,
        .prefers_channels_last = cuda_dnn() != NULL,
        .allows_tf32 = allows_tf32,
        .memory_number = CUDA_MEMORY_NUMBER,
        .allocate = allocate,
        .memory = tell_memory,
        .charge = charge,
        .open_lane = open_lane,
        .close_lane = close_lane,
        .enter = enter,
        .leave = leave,
        .begin_capture = begin_capture,
        .end_capture = end_capture,
        .replay = replay_captured,
        .free_graph = free_graph,
        .copy = begin_copy,
        .fence = begin_fence,
        .begin_trace = begin_trace,
        .mark = mark,
        .end_trace = end_trace,
        .fault = tell_fault,
    };
}

static void
add_to_isa(CudaCard *card, const char *name, const char *version)
{
    size_t size = strlen(card->isa);
    (void)snprintf(card->isa + size, sizeof card->isa - size, "/%s%s", name, version);
}

/* Results are only as equal as the libraries that compute them, and those of sessions that ask for TF32 as
 * the workers that let them. */
static void
complete_isa(CudaCard *card, const PluginLibrary *libraries, size_t count, bool allows_tf32)
{
    for (size_t index = 0; index < count; index++) {
        if (libraries[index].reason == NULL) {
            add_to_isa(card, libraries[index].name, libraries[index].version);
        }
    }
    if (!allows_tf32) {
        add_to_isa(card, "no-tf32", "");
    }
}

/* Returns how many bytes one tenant may hold; 0: all. */
static uint64_t
tenant_limit(const PluginOptions *options, uint64_t limit)
{
    uint64_t percent = options->tenant_percent == 100 ? 0 : (uint64_t)options->tenant_percent;
    return options->tenant_memory != 0 ? options->tenant_memory : limit / 100 * percent;
}

static Status
open_allocator(Call *call, CudaDevice *cuda, const PluginOptions *options)
{
    size_t available = 0;
    size_t all = 0;
    TRY(cuda_check(call, (int)cudaMemGetInfo(&available, &all), "asking for the card's memory"));
    size_t percent = options->memory_percent == 0 ? MEMORY_PERCENT_USUAL : (size_t)options->memory_percent;
    uint64_t limit = options->memory != 0 ? options->memory : available / 100 * percent;
    CudaAllocatorOptions allocator = {
        .lane = &cuda->lane,
        .limit = limit,
        .tenant_limit = tenant_limit(options, limit),
        .is_reserved = options->memory != 0,
    };
    return cuda_allocator_new(call, &allocator, &cuda->allocator);
}

static Status
open_copies(Call *call, CudaDevice *cuda, const PluginOptions *options)
{
    size_t chunks = options->pinned_memory == 0 ? CHUNKS_USUAL : options->pinned_memory / CUDA_CHUNK_SIZE;
    CudaCopiesOptions copies = {
        .host = options->host,
        .lane = &cuda->lane,
        .events = &cuda->events,
        .allocator = cuda->allocator,
        .chunk_count = chunks < CUDA_CHUNKS_MIN ? CUDA_CHUNKS_MIN : chunks,
    };
    return cuda_copies_new(call, &copies, &cuda->copies);
}

/* The name of a card's kind is that of its code: "sm_90", before the first '/' of `isa`. */
static Status
open_codes(Call *call, CudaDevice *cuda, const PluginOptions *options)
{
    char architecture[sizeof cuda->card.isa];
    if (!options->fuses || cuda_nvrtc() == NULL) {
        return STATUS_OK;
    }
    (void)snprintf(
        architecture, sizeof architecture, "%.*s", (int)strcspn(cuda->card.isa, "/"), cuda->card.isa);
    CudaCodesOptions codes = {
        .nvrtc = cuda_nvrtc(),
        .folder = options->code_folder == NULL ? "" : options->code_folder,
        .architecture = architecture,
        .lane = &cuda->lane,
        .counts = &cuda->device.counts,
    };
    cuda->codes = cuda_codes_new(&codes);
    cuda_codes_use(cuda->codes);
    return cuda->codes == NULL ? call_fail_memory(call, "fused kernels") : STATUS_OK;
}

static Status
open_parts(Call *call, CudaDevice *cuda, const PluginOptions *options)
{
    TRY(cuda_check(call, (int)cudaSetDevice(cuda->card.ordinal), "opening the card"));
    TRY(cuda_check(call, cuda_events_make(&cuda->events, EVENTS_AHEAD), "making events"));
    CudaLaneOptions lane = {
        .card = cuda->card.ordinal,
        .workspace_size = cuda->card.workspace_size,
        .host = options->host,
        .events = &cuda->events,
        .busy_ns = &cuda->device.counts.busy_ns,
    };
    TRY(cuda_lane_init(call, &cuda->lane, &lane));
    cuda_runs_init(&cuda->runs, &cuda->lane);
    cuda_captures_init(&cuda->captures, &cuda->lane);
    TRY(open_allocator(call, cuda, options));
    TRY(open_copies(call, cuda, options));
    return open_codes(call, cuda, options);
}

/* What compiles kernels ends before the lane, which it enters. The lane ends before the rest: its watcher may
 * give chunks back, and its work uses chunks and slabs. */
static void
close_parts(CudaDevice *cuda)
{
    (void)cudaSetDevice(cuda->card.ordinal);
    cuda_codes_use(NULL);
    cuda_codes_free(cuda->codes);
    cuda_lane_done(&cuda->lane);
    cuda_captures_done(&cuda->captures);
    cuda_runs_done(&cuda->runs);
    cuda_copies_free(cuda->copies);
    cuda_allocator_free(cuda->allocator);
    cuda_events_done(&cuda->events);
    memory_free(cuda);
}

Status
cuda_device_open(Call *call, const PluginOptions *options, PluginDevice *ret_device)
{
    assert(options->host != NULL);
    const char *fault = cuda_fault();
    if (fault != NULL) {
        return call_fail(call, STATUS_UNAVAILABLE, "the card is out of service: %s", fault);
    }
    CudaDevice *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, "a device");
    }
    size_t library_count = 0;
    cuda_libraries_open(options->libraries);
    const PluginLibrary *libraries = cuda_libraries(&library_count);
    cuda_events_init(&made->events);
    Status status = cuda_card_choose(call, options->device, &made->card);
    if (status == STATUS_OK) {
        complete_isa(&made->card, libraries, library_count, options->allows_tf32);
        made->device = describe_device(&made->card, options->allows_tf32);
        status = open_parts(call, made, options);
    }
    if (status != STATUS_OK) {
        close_parts(made);
        return status;
    }
    cuda_errors_count(&made->device.counts);
    *ret_device = (PluginDevice){
        .device = &made->device,
        .card = made->card.name,
        .driver = made->card.driver,
        .libraries = libraries,
        .library_count = library_count,
    };
    return STATUS_OK;
}

void
cuda_device_close(PluginDevice *device)
{
    cuda_errors_count(NULL);
    close_parts(cuda_device(device->device));
    *device = (PluginDevice){0};
}
