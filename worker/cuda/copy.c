/* A large upload: the stream waits until nobody uses the destination any more → chunk after chunk is filled
 * and enqueued, each given back behind its event → the lane waits for the last → done. A large download: the
 * stream waits for the lane → chunk after chunk is enqueued → behind its event a thread of the host empties
 * it → the last one says done. A small copy: a slot of a chunk, in the lane.
 *
 * A download of a run whose kernels may have refused a value brings their record (run.h) in front of the last
 * part, from the same place in the lane, and fails when it finds one there.
 *
 * When something fails half way, the stream is drained before the buffers are let go: only then the lane's
 * order is enough again. */
#include "worker/cuda/copy.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/rules.h"
#include "worker/cuda/run.h"

enum { SLOT_UNIT = 256 };

typedef struct Transfer Transfer;
struct Transfer {
    CudaCopies *copies;
    DeviceCopy *copy;
    TensorBuffer *from;
    TensorBuffer *to;
    const char *source;
    char *target;
    size_t size;
    size_t enqueued; /* bytes, by the one thread that has the transfer in hand */
    size_t missing;  /* atomic: bytes of a download that have not come */
    int error;       /* atomic: the first one */
    CudaWaiter waiter;
    CudaChunk *chunk; /* of a small download: where it arrives */
    const char *slot;
    TensorBuffer *record; /* of a download: the run's; NULL: it has none */
    uint64_t position;    /* of a download: the lane's, from which the bytes are */
    CudaRefused refused;  /* of a download: the record that came */
    CudaTrace *trace;     /* of the run; NULL: it is not traced */
    uint64_t mark;        /* the node that copies */
    Transfer *next;
};

/* A stream for one direction. */
typedef struct Path {
    cudaStream_t stream;
    Mutex lock; /* held while the stream is used */
    CudaWatcher *watcher;
} Path;

struct CudaCopies {
    CudaCopiesOptions options;
    CudaStaging *staging;
    Path up;
    Path down;
    CudaChunk *small_up; /* with room for more; used in the lane's turns only */
    CudaChunk *small_down;
    Mutex lock;
    Transfer *spare;
};

static Transfer *
new_transfer(CudaCopies *copies, DeviceCopy *copy)
{
    mutex_lock(&copies->lock);
    Transfer *transfer = copies->spare;
    copies->spare = transfer == NULL ? NULL : transfer->next;
    mutex_unlock(&copies->lock);
    if (transfer == NULL) {
        transfer = memory_new(1, sizeof *transfer);
    }
    if (transfer != NULL) {
        *transfer = (Transfer){
            .copies = copies,
            .copy = copy,
            .from = tensor_buffer_ref(copy->from),
            .to = tensor_buffer_ref(copy->to),
            .source = (const char *)copy->from->data + copy->from_offset,
            .target = (char *)copy->to->data + copy->to_offset,
            .size = copy->size,
            .missing = copy->size,
            .trace = copy->lane == NULL ? NULL : cuda_run(copy->lane)->trace,
            .mark = cuda_trace_mark(),
        };
    }
    return transfer;
}

/* Lets the buffers go, then tells the copy's owner. */
static void
finish_transfer(Transfer *transfer)
{
    CudaCopies *copies = transfer->copies;
    DeviceCopy *copy = transfer->copy;
    int error = atomic_load_relaxed(&transfer->error);
    Failure failure = {0};
    (void)cuda_run_has_refused(&transfer->refused, transfer->position, &failure);
    tensor_buffer_unref(transfer->from);
    tensor_buffer_unref(transfer->to);
    mutex_lock(&copies->lock);
    transfer->next = copies->spare;
    copies->spare = transfer;
    mutex_unlock(&copies->lock);
    if (error != cudaSuccess) {
        failure = cuda_failure(error, "a copy between the host and the card", (Slice){0});
    }
    copy->done(copy, failure.code == STATUS_OK ? NULL : &failure);
}

static void
note_error(Transfer *transfer, int error)
{
    int none = cudaSuccess;
    if (error != cudaSuccess) {
        (void)atomic_compare_exchange_acq_rel(&transfer->error, &none, error);
    }
}

/* Waits for the copies in a stream: the last resort after a failure, when no event can be had. */
static void
drain_stream(Transfer *transfer, cudaStream_t stream)
{
    note_error(transfer, (int)cudaStreamSynchronize(stream));
}

/* Bytes of a transfer that are copied at once. */
typedef struct Bytes {
    void *to;
    const void *from;
    size_t size;
    enum cudaMemcpyKind kind;
} Bytes;

/* Enqueues bytes of the transfer in a stream that is this thread's alone. */
static cudaError_t
enqueue_bytes(const Transfer *transfer, Bytes bytes, cudaStream_t stream)
{
    const char *track = bytes.kind == cudaMemcpyHostToDevice   ? "copy in"
                        : bytes.kind == cudaMemcpyDeviceToHost ? "copy out"
                                                               : "stream";
    CudaSpan span = cuda_span_begin(transfer->trace, transfer->mark, stream, track, bytes.size);
    cudaError_t error = cudaMemcpyAsync(bytes.to, bytes.from, bytes.size, bytes.kind, stream);
    cuda_span_end(&span);
    return error;
}

/* Enqueues a part behind which an event is recorded. */
static int
enqueue_part(const Transfer *transfer, Path *path, Bytes bytes, CudaEvent *event)
{
    mutex_lock(&path->lock);
    cudaError_t error = enqueue_bytes(transfer, bytes, path->stream);
    if (error == cudaSuccess) {
        error = cudaEventRecord(event->event, path->stream);
    }
    mutex_unlock(&path->lock);
    return (int)error;
}

/* Returns how many bytes stand in front of those of a download. */
static size_t
record_size(const Transfer *transfer)
{
    return transfer->record == NULL ? 0 : sizeof(CudaRefused);
}

/* Notes whose record comes with a download, of what the lane holds now. */
static void
note_record(Transfer *transfer)
{
    CudaLane *lane = transfer->copies->options.lane;
    CudaRun *run = cuda_run(transfer->copy->lane);
    transfer->position = atomic_load_relaxed(&lane->position);
    transfer->record = run == NULL ? NULL : atomic_load_acquire(&run->record);
}

/* Enqueues a copy of the record. One that was refused behind the bytes of a large download may come with it:
 * a later copy tells of that (cuda_run_has_refused()). */
static int
enqueue_record(const Transfer *transfer, char *to, cudaStream_t stream)
{
    if (transfer->record == NULL) {
        return cudaSuccess;
    }
    atomic_store_relaxed(&cuda_run(transfer->copy->lane)->told, transfer->position);
    return (int)cudaMemcpyAsync(
        to, transfer->record->data, sizeof(CudaRefused), cudaMemcpyDeviceToHost, stream);
}

static int
enqueue_record_aside(const Transfer *transfer, Path *path, char *to)
{
    mutex_lock(&path->lock);
    int error = enqueue_record(transfer, to, path->stream);
    mutex_unlock(&path->lock);
    return error;
}

static void
keep_record(Transfer *transfer, const char *record)
{
    memcpy(&transfer->refused, record, record_size(transfer));
}

/* Makes the stream wait for the lane's turns up to `position`. */
static int
order_path(CudaLane *lane, Path *path, uint64_t position)
{
    return cuda_lane_order(lane, position, path->stream);
}

static size_t
next_part(const Transfer *transfer)
{
    size_t left = transfer->size - transfer->enqueued;
    size_t room = CUDA_CHUNK_SIZE - record_size(transfer);
    return left < room ? left : room;
}

static Transfer *
transfer_of(DeviceWork *work)
{
    return (Transfer *)(void *)((char *)work - offsetof(Transfer, waiter.work));
}

/* Uploads. */

static int
make_lane_wait(CudaLane *lane, const CudaEvent *event)
{
    cuda_lane_enter(lane);
    int error = (int)cudaStreamWaitEvent(cuda_lane_stream(lane), event->event, 0);
    int left = cuda_lane_leave(lane);
    return error != cudaSuccess ? error : left;
}

/* The chunk is given back after the lane waits for its event, which nobody records anew before. */
static int
upload_part(Transfer *transfer, CudaChunk *chunk)
{
    CudaCopies *copies = transfer->copies;
    size_t size = next_part(transfer);
    CudaEvent *event = NULL;
    int error = cuda_events_take(copies->options.events, &event);
    if (error != cudaSuccess) {
        cuda_staging_give(chunk);
        return error;
    }
    const char *source = transfer->source + transfer->enqueued;
    if (CUDA_KEEPS(CUDA_BORROWS_NOTHING)) {
        memcpy(chunk->data, source, size);
        source = chunk->data;
    }
    error = enqueue_part(transfer, &copies->up,
        (Bytes){transfer->target + transfer->enqueued, source, size, cudaMemcpyHostToDevice}, event);
    if (error != cudaSuccess) {
        drain_stream(transfer, copies->up.stream);
        cuda_events_give(event);
        cuda_staging_give(chunk);
        return error;
    }
    transfer->enqueued += size;
    if (transfer->enqueued == transfer->size && CUDA_KEEPS(CUDA_LANE_WAITS)) {
        error = make_lane_wait(copies->options.lane, event);
    }
    cuda_staging_give_behind(chunk, event, copies->up.watcher);
    return error;
}

/* Uploads from the chunk in hand on, until all is enqueued or no chunk is free. */
static void
upload_parts(Transfer *transfer, CudaChunk *chunk)
{
    int error = cudaSuccess;
    while (error == cudaSuccess && transfer->enqueued < transfer->size) {
        if (chunk == NULL &&
            (chunk = cuda_staging_take(transfer->copies->staging, &transfer->waiter)) == NULL) {
            return;
        }
        error = upload_part(transfer, chunk);
        chunk = NULL;
    }
    if (error != cudaSuccess) {
        note_error(transfer, error);
        drain_stream(transfer, transfer->copies->up.stream);
    }
    finish_transfer(transfer);
}

static void
resume_upload(DeviceWork *work)
{
    Transfer *transfer = transfer_of(work);
    (void)cudaSetDevice(transfer->copies->options.lane->card);
    upload_parts(transfer, transfer->waiter.chunk);
}

static void
begin_upload(Transfer *transfer)
{
    CudaCopies *copies = transfer->copies;
    uint64_t position = cuda_allocator_position(copies->options.allocator, transfer->to);
    int error =
        CUDA_KEEPS(CUDA_UPLOAD_WAITS) ? order_path(copies->options.lane, &copies->up, position) : cudaSuccess;
    transfer->waiter.work.run = resume_upload;
    if (error != cudaSuccess) {
        note_error(transfer, error);
        finish_transfer(transfer);
        return;
    }
    upload_parts(transfer, NULL);
}

/* Downloads. */

/* Counts bytes that came, or that never will. */
static void
count_down(Transfer *transfer, size_t size, int error)
{
    note_error(transfer, error);
    if (atomic_sub_acq_rel(&transfer->missing, size) == 0) {
        finish_transfer(transfer);
    }
}

static void
download_passed(void *context, int error)
{
    CudaChunk *chunk = context;
    Transfer *transfer = chunk->owner;
    size_t size = chunk->used;
    if (error == cudaSuccess) {
        memcpy(transfer->target + chunk->offset, chunk->data + record_size(transfer), size);
    }
    if (error == cudaSuccess && chunk->offset + size == transfer->size) {
        keep_record(transfer, chunk->data);
    }
    cuda_staging_give(chunk);
    count_down(transfer, size, error);
}

/* Returns whether there is more to enqueue; if not, the transfer may be gone. */
static bool
download_part(Transfer *transfer, CudaChunk *chunk)
{
    CudaCopies *copies = transfer->copies;
    CudaEvent *event = NULL;
    size_t size = next_part(transfer);
    int error = cuda_events_take(copies->options.events, &event);
    if (error == cudaSuccess && transfer->enqueued + size == transfer->size) {
        error = enqueue_record_aside(transfer, &copies->down, chunk->data);
    }
    if (error == cudaSuccess) {
        error = enqueue_part(transfer, &copies->down,
            (Bytes){chunk->data + record_size(transfer), transfer->source + transfer->enqueued, size,
                cudaMemcpyDeviceToHost},
            event);
    }
    if (error != cudaSuccess) {
        drain_stream(transfer, copies->down.stream);
        if (event != NULL) {
            cuda_events_give(event);
        }
        cuda_staging_give(chunk);
        count_down(transfer, transfer->size - transfer->enqueued, error);
        return false;
    }
    chunk->owner = transfer;
    chunk->offset = transfer->enqueued;
    chunk->used = size;
    event->passed = download_passed;
    event->context = chunk;
    transfer->enqueued += size;
    bool has_more = transfer->enqueued < transfer->size;
    cuda_watcher_add(copies->down.watcher, event);
    return has_more;
}

static void
download_parts(Transfer *transfer, CudaChunk *chunk)
{
    CudaStaging *staging = transfer->copies->staging;
    bool has_more = true;
    while (has_more) {
        CudaChunk *next = chunk != NULL ? chunk : cuda_staging_take(staging, &transfer->waiter);
        if (next == NULL) {
            return;
        }
        chunk = NULL;
        has_more = download_part(transfer, next);
    }
}

static void
resume_download(DeviceWork *work)
{
    Transfer *transfer = transfer_of(work);
    (void)cudaSetDevice(transfer->copies->options.lane->card);
    download_parts(transfer, transfer->waiter.chunk);
}

static void
begin_download(Transfer *transfer)
{
    CudaCopies *copies = transfer->copies;
    CudaLane *lane = copies->options.lane;
    int error = cudaSuccess;
    note_record(transfer);
    if (CUDA_KEEPS(CUDA_DOWNLOAD_WAITS)) {
        error = order_path(lane, &copies->down, transfer->position);
    }
    if (!CUDA_KEEPS(CUDA_COPY_HOLDS)) {
        tensor_buffer_unref(TAKE(transfer->from));
    }
    transfer->waiter.work.run = resume_download;
    if (error != cudaSuccess) {
        note_error(transfer, error);
        finish_transfer(transfer);
        return;
    }
    download_parts(transfer, NULL);
}

/* Small copies, in the lane. All but the emptying of a slot happens in its turns. */

static bool
has_room(const CudaChunk *chunk, size_t size)
{
    return chunk != NULL && chunk->used + size <= CUDA_CHUNK_SIZE;
}

static char *
take_slot(CudaChunk *chunk, size_t size)
{
    char *slot = chunk->data + chunk->used;
    chunk->used += (size + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT;
    return slot;
}

/* Gives up a full chunk of uploads, which the lane may still read. */
static int
close_small_up(CudaCopies *copies)
{
    CudaLane *lane = copies->options.lane;
    CudaEvent *event = NULL;
    if (copies->small_up == NULL) {
        return cudaSuccess;
    }
    int error = cuda_events_take(copies->options.events, &event);
    if (error != cudaSuccess) {
        return error;
    }
    error = (int)cudaEventRecord(event->event, cuda_lane_stream(lane));
    if (error != cudaSuccess) {
        cuda_events_give(event);
        return error;
    }
    event->position = lane->position;
    cuda_staging_give_behind(TAKE(copies->small_up), event, lane->watcher);
    return cudaSuccess;
}

/* Lets go of a chunk of downloads: a slot of it, or the chance to take more. The last one gives it back. */
static void
drop_small_down(CudaChunk *chunk)
{
    if (chunk != NULL && atomic_sub_acq_rel(&chunk->users, 1) == 0) {
        cuda_staging_give(chunk);
    }
}

/* Sees to it that the open chunk of uploads has room, `given` being one that the transfer waited for. Leaves
 * NULL there when the transfer has to wait: then another thread may have it already. */
static int
open_small_up(Transfer *transfer, CudaChunk *given)
{
    CudaCopies *copies = transfer->copies;
    if (has_room(copies->small_up, transfer->size)) {
        if (given != NULL) {
            cuda_staging_give(given);
        }
        return cudaSuccess;
    }
    int error = close_small_up(copies);
    if (error != cudaSuccess) {
        if (given != NULL) {
            cuda_staging_give(given);
        }
        return error;
    }
    copies->small_up = given != NULL ? given : cuda_staging_take(copies->staging, &transfer->waiter);
    return cudaSuccess;
}

static void
open_small_down(Transfer *transfer, CudaChunk *given)
{
    CudaCopies *copies = transfer->copies;
    CudaChunk *chunk = copies->small_down;
    if (chunk != NULL && atomic_load_acquire(&chunk->users) == 1) {
        chunk->used = 0; /* all its slots have been emptied */
    }
    if (has_room(chunk, record_size(transfer) + transfer->size)) {
        if (given != NULL) {
            cuda_staging_give(given);
        }
        return;
    }
    drop_small_down(TAKE(copies->small_down));
    chunk = given != NULL ? given : cuda_staging_take(copies->staging, &transfer->waiter);
    if (chunk != NULL) {
        chunk->users = 1;
        copies->small_down = chunk;
    }
}

static void
upload_small(Transfer *transfer, CudaChunk *given)
{
    CudaCopies *copies = transfer->copies;
    CudaLane *lane = copies->options.lane;
    cuda_lane_enter(lane);
    int error = open_small_up(transfer, given);
    bool is_delayed = error == cudaSuccess && copies->small_up == NULL;
    if (error == cudaSuccess && !is_delayed) {
        const char *source = transfer->source;
        char *slot = take_slot(copies->small_up, transfer->size);
        if (CUDA_KEEPS(CUDA_BORROWS_NOTHING)) {
            source = memcpy(slot, source, transfer->size);
        }
        error = (int)enqueue_bytes(transfer,
            (Bytes){transfer->target, source, transfer->size, cudaMemcpyHostToDevice},
            cuda_lane_stream(lane));
    }
    int left = cuda_lane_leave(lane);
    if (!is_delayed) {
        note_error(transfer, error);
        note_error(transfer, left);
        finish_transfer(transfer);
    }
}

static void
small_down_passed(void *context, int error)
{
    Transfer *transfer = context;
    if (error == cudaSuccess) {
        memcpy(transfer->target, transfer->slot + record_size(transfer), transfer->size);
        keep_record(transfer, transfer->slot);
    }
    note_error(transfer, error);
    drop_small_down(transfer->chunk);
    finish_transfer(transfer);
}

/* Once it is marked, the transfer is in the hands of whoever empties the slot. */
static int
enqueue_small_down(Transfer *transfer, CudaChunk *chunk)
{
    CudaLane *lane = transfer->copies->options.lane;
    cudaStream_t stream = cuda_lane_stream(lane);
    char *slot = take_slot(chunk, record_size(transfer) + transfer->size);
    (void)atomic_add_acq_rel(&chunk->users, 1);
    transfer->chunk = chunk;
    transfer->slot = slot;
    int error = enqueue_record(transfer, slot, stream);
    if (error == cudaSuccess) {
        error = (int)enqueue_bytes(transfer,
            (Bytes){slot + record_size(transfer), transfer->source, transfer->size, cudaMemcpyDeviceToHost},
            stream);
    }
    return error != cudaSuccess ? error : cuda_lane_mark(lane, small_down_passed, transfer);
}

static void
download_small(Transfer *transfer, CudaChunk *given)
{
    CudaCopies *copies = transfer->copies;
    CudaLane *lane = copies->options.lane;
    cuda_lane_enter(lane);
    note_record(transfer);
    open_small_down(transfer, given);
    CudaChunk *chunk = copies->small_down;
    int error = chunk == NULL ? cudaSuccess : enqueue_small_down(transfer, chunk);
    int left = cuda_lane_leave(lane);
    if (error != cudaSuccess) {
        note_error(transfer, error);
        note_error(transfer, cuda_lane_drain(lane));
        drop_small_down(chunk);
        finish_transfer(transfer);
    } else if (left != cudaSuccess) {
        (void)cuda_failure(left, "a copy to the host", (Slice){0});
    }
}

static void
copy_within(Transfer *transfer)
{
    CudaLane *lane = transfer->copies->options.lane;
    cuda_lane_enter(lane);
    int error = (int)enqueue_bytes(transfer,
        (Bytes){transfer->target, transfer->source, transfer->size, cudaMemcpyDeviceToDevice},
        cuda_lane_stream(lane));
    int left = cuda_lane_leave(lane);
    note_error(transfer, error);
    note_error(transfer, left);
    finish_transfer(transfer);
}

/* Begins, or goes on with the chunk that the transfer has waited for. */

static void
resume_small_up(DeviceWork *work)
{
    Transfer *transfer = transfer_of(work);
    upload_small(transfer, transfer->waiter.chunk);
}

static void
resume_small_down(DeviceWork *work)
{
    Transfer *transfer = transfer_of(work);
    download_small(transfer, transfer->waiter.chunk);
}

static void
begin_transfer(Transfer *transfer)
{
    bool is_small = transfer->size <= CUDA_SMALL_COPY_MAX;
    bool is_up = transfer->from->memory == MEMORY_HOST;
    if (!is_up && transfer->to->memory != MEMORY_HOST) {
        copy_within(transfer);
    } else if (!is_small && is_up) {
        begin_upload(transfer);
    } else if (!is_small) {
        begin_download(transfer);
    } else if (is_up) {
        transfer->waiter.work.run = resume_small_up;
        upload_small(transfer, NULL);
    } else {
        transfer->waiter.work.run = resume_small_down;
        download_small(transfer, NULL);
    }
}

static bool
lies_within(const TensorBuffer *buffer, size_t offset, size_t size)
{
    return offset <= buffer->size && size <= buffer->size - offset;
}

void
cuda_copies_begin(CudaCopies *copies, DeviceCopy *copy)
{
    assert(copy->size > 0 && lies_within(copy->from, copy->from_offset, copy->size) &&
           lies_within(copy->to, copy->to_offset, copy->size));
    assert(copy->from->memory != MEMORY_HOST || copy->to->memory != MEMORY_HOST);
    const char *fault = cuda_fault();
    if (fault != NULL) {
        Failure failure = failure_of(STATUS_UNAVAILABLE, (Slice){0}, "the card is out of service: %s", fault);
        copy->done(copy, &failure);
        return;
    }
    Transfer *transfer = new_transfer(copies, copy);
    if (transfer == NULL) {
        Failure failure =
            failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for what describes a copy");
        copy->done(copy, &failure);
        return;
    }
    (void)cudaSetDevice(copies->options.lane->card);
    begin_transfer(transfer);
}

static Status
open_path(Call *call, Path *path, const CudaCopiesOptions *options)
{
    CudaWatcherOptions watcher = {.host = options->host, .card = options->lane->card};
    TRY(cuda_check(
        call, (int)cudaStreamCreateWithFlags(&path->stream, cudaStreamNonBlocking), "making a stream"));
    return cuda_watcher_new(call, &watcher, &path->watcher);
}

static void
close_path(Path *path)
{
    cuda_watcher_free(path->watcher);
    if (path->stream != NULL) {
        (void)cudaStreamSynchronize(path->stream);
        (void)cudaStreamDestroy(path->stream);
    }
    mutex_done(&path->lock);
}

Status
cuda_copies_new(Call *call, const CudaCopiesOptions *options, CudaCopies **ret_copies)
{
    CudaCopies *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, "the card's copies");
    }
    made->options = *options;
    mutex_init(&made->lock);
    mutex_init(&made->up.lock);
    mutex_init(&made->down.lock);
    Status status = cuda_staging_new(call, options->host, options->chunk_count, &made->staging);
    if (status == STATUS_OK) {
        status = open_path(call, &made->up, options);
    }
    if (status == STATUS_OK) {
        status = open_path(call, &made->down, options);
    }
    if (status != STATUS_OK) {
        cuda_copies_free(made);
        return status;
    }
    *ret_copies = made;
    return STATUS_OK;
}

/* The lane's watcher has ended before: it watches chunks too. */
void
cuda_copies_free(CudaCopies *copies)
{
    if (copies == NULL) {
        return;
    }
    close_path(&copies->up);
    close_path(&copies->down);
    cuda_staging_free(copies->staging);
    while (copies->spare != NULL) {
        Transfer *transfer = copies->spare;
        copies->spare = transfer->next;
        memory_free(transfer);
    }
    mutex_done(&copies->lock);
    memory_free(copies);
}
