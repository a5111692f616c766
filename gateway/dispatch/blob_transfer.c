/* One constant on its way to one worker.
 *
 * Happy path: PUT → a constant in memory is written whole; of another one, pieces are read and written as the
 * stream takes them: one waits in the stream, the next is read meanwhile → the worker has checked the digest
 * and answers 200 → `done`.
 *
 * A constant that the loop has brought to a worker before need not be read again: the next worker is asked to
 * fetch it from there, and only when that fails it is PUT.
 *
 * Failures: a worker that is just being sent the constant by somebody else says so, and is asked again soon;
 * a worker that takes nothing for STALL_MS is given up; a piece that cannot be read ends the transfer with
 * the store's failure. A transfer ends only when its call has ended and nothing is being read for it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/dispatch/internals.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/h2/h2.h"

enum {
    PIECE_SIZE = 1 << 20, /* a chunk of the store */
    PATH_SIZE = 256,
    ANSWER_ARENA_SIZE_MAX = 1 << 20,
    STALL_MS = 30000,
    KEY_SIZE = 160,
    HOLDER_COUNT_MAX = 65536,
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
    bool streams;        /* the constant is not in memory */
    bool has_asked_peer; /* the worker was asked to fetch the constant from another one */
    bool is_reading;
    bool has_piece;          /* a piece has been read and waits for room */
    bool is_repeated;        /* somebody else sends the constant: it is put again */
    uint64_t read;           /* bytes that have been read or are being read */
    uint64_t written;        /* bytes that have been written into the stream */
    uint64_t sent;           /* bytes that had left when `stall` fired last */
    uint64_t written_before; /* bytes that were written before the constant was put again */
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

/* The worker that last got a constant from this loop. */
typedef struct BlobHolder {
    char address[ADDRESS_TEXT_SIZE];
    char incarnation[INCARNATION_TEXT_SIZE];
} BlobHolder;

static Slice
holder_key(const BlobTransferRequest *request, char text[KEY_SIZE])
{
    int size = snprintf(text, KEY_SIZE, "%s %s", request->tenant, request->blob->sha256);
    return slice_of(text, (size_t)size);
}

static void
forget_holders(Map *holders)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(holders, &cursor); entry != NULL;
         entry = map_next(holders, &cursor)) {
        BlobHolder *holder = entry->value;
        (void)map_remove(holders, entry->key);
        memory_free(holder);
    }
}

/* Notes that the worker has the constant. This is a hint for later transfers: without memory there is
 * none. */
static void
note_holder(const BlobTransferRequest *request)
{
    char text[KEY_SIZE];
    Map *holders = request->dispatcher->blobs;
    Slice key = holder_key(request, text);
    if (map_count(holders) >= HOLDER_COUNT_MAX) {
        forget_holders(holders);
    }
    BlobHolder *holder = map_get(holders, key);
    if (holder == NULL) {
        holder = memory_new(1, sizeof *holder);
        if (holder == NULL || !map_put(holders, key, holder)) {
            memory_free(holder);
            return;
        }
    }
    (void)snprintf(holder->address, sizeof holder->address, "%s", request->worker->address);
    (void)snprintf(holder->incarnation, sizeof holder->incarnation, "%s", request->worker->incarnation);
}

/* Returns another worker that serves and has the constant; NULL: none is known. */
static const WorkerInfo *
find_holder(const BlobTransferRequest *request)
{
    char text[KEY_SIZE];
    const BlobHolder *holder = map_get(request->dispatcher->blobs, holder_key(request, text));
    if (holder == NULL || strcmp(holder->address, request->worker->address) == 0) {
        return NULL;
    }
    const WorkerInfo *info = roster_find(request->dispatcher->workers, holder->address);
    bool is_there =
        info != NULL && info->state == WORKER_SERVING && strcmp(info->incarnation, holder->incarnation) == 0;
    return is_there ? info : NULL;
}

void
blob_transfers_free(Dispatcher *dispatcher)
{
    if (dispatcher->blobs != NULL) {
        forget_holders(dispatcher->blobs);
        map_free(dispatcher->blobs);
    }
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
    uint64_t sent_bytes = transfer->written_before + transfer->written;
    if (transfer->streams && failure.code == STATUS_OK) {
        note_holder(&transfer->request);
    }
    timer_clear(dispatcher->loop, &transfer->stall);
    timer_clear(dispatcher->loop, &transfer->again);
    buffer_done(&transfer->piece.bytes);
    list_remove(&transfer->link);
    dispatcher->streaming_count -= transfer->streams && transfer->has_begun ? 1 : 0;
    memory_free(transfer);
    done(context, &failure, sent_bytes);
    begin_waiting(dispatcher);
}

static void
put_again(Timer *timer)
{
    put_blob(LIST_ITEM(timer, BlobTransfer, again));
}

/* Ends the transfer or begins it anew, now that its call has ended and nothing is being read for it. */
static void
settle_transfer(BlobTransfer *transfer)
{
    assert(transfer->call == NULL && !transfer->is_reading);
    if (!transfer->is_repeated || transfer->failure.code != STATUS_OK) {
        end_transfer(transfer);
        return;
    }
    buffer_done(&transfer->piece.bytes);
    transfer->is_repeated = false;
    transfer->has_piece = false;
    transfer->written_before += transfer->written;
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
        settle_transfer(transfer);
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
        settle_transfer(transfer);
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
    bool is_fetching = transfer->has_asked_peer && transfer->written == 0 && transfer->read == 0;
    bool waits_for_us =
        transfer->call == NULL || is_fetching || transfer->is_reading || transfer->again.due_ns != 0;
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
        settle_transfer(transfer);
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
        transfer->read = blob_size(transfer); /* nothing is left to read when the stream has room */
        transfer->written = transfer->read;
        upstream_write_buffer(transfer->call, slice_of(tensor->data, transfer->written), tensor->buffer);
        upstream_end(transfer->call);
    }
}

static void
fetch_done(UpstreamCall *call, Status status, const char *message)
{
    BlobTransfer *transfer = upstream_context(call);
    bool is_there = status == STATUS_OK && upstream_http_status(call) == 200;
    transfer->call = NULL;
    if (!is_there && transfer->failure.code == STATUS_OK && dispatcher_of(transfer)->is_closing) {
        transfer->failure =
            failure_of(status == STATUS_OK ? STATUS_UNAVAILABLE : status, (Slice){0}, "%s", message);
    }
    if (is_there || transfer->failure.code != STATUS_OK) {
        settle_transfer(transfer);
    } else {
        put_blob(transfer);
    }
}

/* Asks the worker to fetch the constant from another one. False: none is known to have it, or has failed. */
static bool
ask_peer(BlobTransfer *transfer)
{
    static const UpstreamEvents events = {.on_done = fetch_done};
    const BlobTransferRequest *request = &transfer->request;
    const WorkerInfo *peer = transfer->has_asked_peer ? NULL : find_holder(request);
    if (peer == NULL) {
        return false;
    }
    AUTO_BUFFER json = {0};
    WireFetch fetch = {
        .address = slice_from_string(peer->address),
        .incarnation = slice_from_string(peer->incarnation),
        .size = (int64_t)blob_size(transfer),
    };
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s:fetch", request->blob->sha256);
    UpstreamHead head = {
        .method = "POST",
        .path = slice_from_string(path),
        .address = request->worker->address,
        .incarnation = slice_from_string(request->worker->incarnation),
        .tenant = slice_from_string(request->tenant),
    };
    wire_fetch_write(&json, &fetch);
    transfer->has_asked_peer = true;
    transfer->call = buffer_is_ok(&json)
                         ? upstream_begin(dispatcher_of(transfer)->upstream, &head, &events, transfer)
                         : NULL;
    if (transfer->call != NULL) {
        upstream_write_copy(transfer->call, buffer_slice(&json));
        upstream_end(transfer->call);
    }
    return transfer->call != NULL;
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
    if (!transfer->streams || !ask_peer(transfer)) {
        put_blob(transfer);
    }
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
