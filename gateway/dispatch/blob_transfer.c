/* One constant on its way to one worker.
 *
 * Happy path: PUT → a constant in memory is written whole; of another one, pieces are read and written as the
 * stream takes them: one waits in the stream, the next is read meanwhile → the worker has checked the digest
 * and answers 200 → `done`.
 *
 * Failures: a worker that is just being sent the constant by somebody else says so, and is asked again soon;
 * a worker that takes nothing for STALL_MS is given up; a piece that cannot be read ends the transfer with
 * the store's failure. A transfer ends only when its call has ended and nothing is being read for it. */
#include <assert.h>
#include <stdio.h>

#include "gateway/dispatch/internals.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/h2/h2.h"

enum {
    PIECE_SIZE = 1 << 20, /* a chunk of the store */
    PATH_SIZE = 256,
    ANSWER_ARENA_SIZE_MAX = 1 << 20,
    STALL_MS = 30000,
    READ_AGAIN_MS = 5,  /* after the threads that read had too much to do */
    PUT_AGAIN_MS = 250, /* after the worker was being sent the constant by somebody else */
};

typedef struct BlobTransfer {
    ListLink link; /* in dispatcher->transfers */
    BlobTransferRequest request;
    BlobTransferDone done;
    void *context;
    UpstreamCall *call; /* NULL before it has begun and after it has ended */
    bool has_begun;
    bool streams; /* the constant is not in memory */
    bool is_reading;
    bool has_piece;   /* a piece has been read and waits for room */
    bool is_repeated; /* somebody else sends the constant: it is put again */
    uint64_t read;    /* bytes that have been read or are being read */
    uint64_t written; /* bytes that have been written into the stream */
    uint64_t sent;    /* bytes that had left when `stall` fired last */
    BlobPiece piece;
    Timer stall;
    Timer again;
    Failure failure; /* STATUS_OK: none */
} BlobTransfer;

static void begin_waiting(Dispatcher *dispatcher);
static void put_blob(BlobTransfer *transfer);

static Dispatcher *
dispatcher_of(const BlobTransfer *transfer)
{
    return transfer->request.dispatcher;
}

static uint64_t
blob_size(const BlobTransfer *transfer)
{
    return tensor_byte_size(&transfer->request.blob->tensor);
}

static void
set_timer(const BlobTransfer *transfer, Timer *timer, uint64_t pause_ms)
{
    Loop *loop = dispatcher_of(transfer)->loop;
    timer_set(loop, timer, loop_now_ns(loop) + pause_ms * CLOCK_NS_PER_MS);
}

static void
end_transfer(BlobTransfer *transfer)
{
    Dispatcher *dispatcher = dispatcher_of(transfer);
    BlobTransferDone done = transfer->done;
    void *context = transfer->context;
    Failure failure = transfer->failure;
    timer_clear(dispatcher->loop, &transfer->stall);
    timer_clear(dispatcher->loop, &transfer->again);
    buffer_done(&transfer->piece.bytes);
    list_remove(&transfer->link);
    dispatcher->streaming_count -= transfer->streams && transfer->has_begun ? 1 : 0;
    memory_free(transfer);
    done(context, &failure);
    begin_waiting(dispatcher);
}

static void
put_again(Timer *timer)
{
    put_blob(LIST_ITEM(timer, BlobTransfer, again));
}

/* Ends the transfer or begins it anew, now that its call has ended and nothing is being read for it. */
static void
settle(BlobTransfer *transfer)
{
    assert(transfer->call == NULL && !transfer->is_reading);
    if (!transfer->is_repeated || transfer->failure.code != STATUS_OK) {
        end_transfer(transfer);
        return;
    }
    buffer_done(&transfer->piece.bytes);
    transfer->is_repeated = false;
    transfer->has_piece = false;
    transfer->read = 0;
    transfer->written = 0;
    transfer->sent = 0;
    transfer->again.fire = put_again;
    set_timer(transfer, &transfer->again, PUT_AGAIN_MS);
}

/* Ends the transfer for a reason of the gateway's own; it may be gone when this returns. */
static void
fail_transfer(BlobTransfer *transfer, Failure failure)
{
    transfer->failure = transfer->failure.code == STATUS_OK ? failure : transfer->failure;
    if (transfer->call != NULL) {
        upstream_cancel(transfer->call);
    } else if (!transfer->is_reading) {
        settle(transfer);
    }
}

static void
release_piece(TensorBuffer *buffer)
{
    memory_free(buffer->owner);
}

/* Hands the piece's bytes over to the stream, without a copy. False without memory. */
static bool
write_piece(BlobTransfer *transfer)
{
    Slice data = buffer_slice(&transfer->piece.bytes);
    TensorBuffer *bytes =
        tensor_buffer_wrap(transfer->piece.bytes.data, data.size, release_piece, transfer->piece.bytes.data);
    if (bytes == NULL) {
        return false;
    }
    transfer->piece.bytes = (Buffer){0};
    transfer->has_piece = false;
    transfer->written += data.size;
    upstream_write_buffer(transfer->call, data, bytes);
    tensor_buffer_unref(bytes);
    if (transfer->written == blob_size(transfer)) {
        upstream_end(transfer->call);
    }
    return true;
}

static void
read_piece(BlobTransfer *transfer)
{
    const BlobPieces *pieces = &dispatcher_of(transfer)->pieces;
    uint64_t left = blob_size(transfer) - transfer->read;
    transfer->piece.offset = transfer->read;
    transfer->piece.size = left < PIECE_SIZE ? (size_t)left : PIECE_SIZE;
    transfer->piece.failure.code = STATUS_OK;
    if (pieces->read(pieces->context, &transfer->piece)) {
        transfer->is_reading = true;
        transfer->read += transfer->piece.size;
    } else {
        set_timer(transfer, &transfer->again, READ_AGAIN_MS);
    }
}

/* Writes the piece that has been read, if the stream has room, and begins to read the next. */
static void
go_on(BlobTransfer *transfer)
{
    if (transfer->has_piece && upstream_queued(transfer->call) < H2_WRITE_LOW && !write_piece(transfer)) {
        fail_transfer(transfer,
            failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for a constant's bytes"));
        return;
    }
    bool has_more = transfer->read < blob_size(transfer);
    bool is_free = !transfer->is_reading && !transfer->has_piece && transfer->again.due_ns == 0;
    if (has_more && is_free && !dispatcher_of(transfer)->is_closing) {
        read_piece(transfer);
    }
}

static void
read_again(Timer *timer)
{
    BlobTransfer *transfer = LIST_ITEM(timer, BlobTransfer, again);
    if (transfer->call != NULL) {
        go_on(transfer);
    }
}

static void
take_piece(BlobPiece *piece)
{
    BlobTransfer *transfer = LIST_ITEM(piece, BlobTransfer, piece);
    transfer->is_reading = false;
    if (transfer->call == NULL) {
        settle(transfer);
    } else if (piece->failure.code != STATUS_OK) {
        fail_transfer(transfer, piece->failure);
    } else {
        transfer->has_piece = true;
        go_on(transfer);
    }
}

static void
stream_has_room(UpstreamCall *call)
{
    go_on(upstream_context(call));
}

/* Gives up a worker that takes nothing; not one that waits for the gateway's own reading. */
static void
check_progress(Timer *timer)
{
    BlobTransfer *transfer = LIST_ITEM(timer, BlobTransfer, stall);
    uint64_t sent = transfer->call == NULL ? 0 : transfer->written - upstream_queued(transfer->call);
    bool waits_for_us = transfer->call == NULL || transfer->is_reading || transfer->again.due_ns != 0;
    if (waits_for_us || sent > transfer->sent) {
        transfer->sent = sent;
        set_timer(transfer, &transfer->stall, STALL_MS);
        return;
    }
    fail_transfer(transfer,
        failure_of(STATUS_UNAVAILABLE, (Slice){0}, "worker '%s' has taken nothing of a constant for %d s",
            transfer->request.worker->name, STALL_MS / 1000));
}

/* Reads the worker's verdict. Bytes of the store that are not those of the digest are lost. */
static void
read_verdict(BlobTransfer *transfer, UpstreamCall *call)
{
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireStatus answer;
    if (arena == NULL) {
        transfer->failure =
            failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for a worker's answer");
        return;
    }
    (void)answer_read_status(call, &reading, &answer);
    transfer->is_repeated = slice_equals_string(answer.reason, WIRE_REASON_BLOB_IS_COMING);
    if (slice_equals_string(answer.reason, WIRE_REASON_WRONG_DIGEST) && transfer->streams) {
        transfer->failure =
            failure_of(STATUS_DATA_LOSS, (Slice){0}, "the stored bytes of constant '%s' are damaged: %.300s",
                transfer->request.blob->sha256, answer.failure.message);
    } else if (!transfer->is_repeated) {
        transfer->failure = answer.failure;
    }
}

static void
put_done(UpstreamCall *call, Status status, const char *message)
{
    BlobTransfer *transfer = upstream_context(call);
    transfer->call = NULL;
    timer_clear(dispatcher_of(transfer)->loop, &transfer->again);
    if (transfer->failure.code == STATUS_OK && status != STATUS_OK) {
        transfer->failure = failure_of(status, (Slice){0}, "%s", message);
    } else if (transfer->failure.code == STATUS_OK) {
        read_verdict(transfer, call);
    }
    if (!transfer->is_reading) {
        settle(transfer);
    }
}

static const UpstreamEvents put_events = {.on_writable = stream_has_room, .on_done = put_done};

static void
put_blob(BlobTransfer *transfer)
{
    const BlobTransferRequest *request = &transfer->request;
    const Tensor *tensor = &request->blob->tensor;
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", request->blob->sha256);
    UpstreamHead head = {
        .method = "PUT",
        .path = slice_from_string(path),
        .address = request->worker->address,
        .incarnation = slice_from_string(request->worker->incarnation),
        .tenant = slice_from_string(request->tenant),
        .body_size = blob_size(transfer),
    };
    transfer->again.fire = read_again;
    transfer->call = upstream_begin(dispatcher_of(transfer)->upstream, &head, &put_events, transfer);
    if (transfer->call == NULL) {
        fail_transfer(transfer,
            failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for sending a constant"));
    } else if (transfer->streams) {
        go_on(transfer);
    } else {
        transfer->written = blob_size(transfer);
        upstream_write_buffer(transfer->call, slice_of(tensor->data, transfer->written), tensor->buffer);
        upstream_end(transfer->call);
    }
}

static bool
may_begin(const BlobTransfer *transfer)
{
    const Dispatcher *dispatcher = dispatcher_of(transfer);
    return !transfer->streams || dispatcher->streaming_count < dispatcher->pieces.transfers_max;
}

static void
begin_transfer(BlobTransfer *transfer)
{
    transfer->has_begun = true;
    dispatcher_of(transfer)->streaming_count += transfer->streams ? 1 : 0;
    put_blob(transfer);
}

/* Begins the oldest transfer that waits for its turn. */
static void
begin_waiting(Dispatcher *dispatcher)
{
    if (dispatcher->is_closing) {
        return;
    }
    LIST_EACH(&dispatcher->transfers, link)
    {
        BlobTransfer *transfer = LIST_ITEM(link, BlobTransfer, link);
        if (!transfer->has_begun && may_begin(transfer)) {
            begin_transfer(transfer);
            return;
        }
    }
}

bool
blob_transfer_begin(const BlobTransferRequest *request, BlobTransferDone done, void *context)
{
    Dispatcher *dispatcher = request->dispatcher;
    const Tensor *tensor = &request->blob->tensor;
    BlobTransfer *transfer = dispatcher->is_closing ? NULL : memory_new(1, sizeof *transfer);
    if (transfer == NULL) {
        return false;
    }
    transfer->request = *request;
    transfer->done = done;
    transfer->context = context;
    transfer->streams = tensor_is_absent(tensor);
    transfer->stall.fire = check_progress;
    if (transfer->streams) {
        assert(dispatcher->pieces.read != NULL);
        transfer->piece = (BlobPiece){.loop = dispatcher->loop,
            .tenant = request->tenant,
            .digest = *tensor_digest(tensor),
            .done = take_piece};
    }
    list_append(&dispatcher->transfers, &transfer->link);
    set_timer(transfer, &transfer->stall, STALL_MS);
    if (may_begin(transfer)) {
        begin_transfer(transfer);
    }
    return true;
}

void
blob_transfers_end(Dispatcher *dispatcher)
{
    assert(dispatcher->is_closing);
    LIST_EACH(&dispatcher->transfers, link)
    {
        BlobTransfer *transfer = LIST_ITEM(link, BlobTransfer, link);
        if (transfer->call == NULL) {
            fail_transfer(transfer, failure_of(STATUS_UNAVAILABLE, (Slice){0}, "the gateway is stopping"));
        }
    }
}
