/* Happy path: head and stream → memory is claimed → a piece is read on a job thread, and written there if it
 * is sent as something else, turn by turn → it is queued in the stream → while the queue is low, the next
 * piece is read.
 *
 * Failures: the stream is cut. A client that is gone closes the stream; work that is under way comes back to
 * nobody and is dropped. */
#include "gateway/blobs/blob_send.h"

#include <assert.h>

#include "gateway/jobs/job_context.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    /* A reader that has not shown that it is fast: its pieces, and all that it may hold. */
    NARROW_PIECE = 64 * 1024,
    NARROW_ROOM = 256 * 1024,
    FAST_SIZE = 1 << 20, /* bytes that a fast one has taken when it waits for more */
    WIDE_PIECE = 1 << 20,
    WIDE_ROOM = 4 << 20,
    TURN_SIZE = 32 * 1024, /* bytes that are written as something else at a time: about a millisecond */
    ARENA_SIZE_MAX = 1 << 20,
    READ_TIMEOUT_MS = 60000,
};

/* One reply; it lives in its exchange's arena. */
typedef struct Sending {
    BlobSend send;
    Exchange *exchange;
    HttpStream *stream; /* NULL: closed */
    MemoryClaim claim;
    bool has_room;
    bool is_wide;
    ByteRange left;  /* to be read */
    Buffer piece;    /* read, not queued or written yet */
    size_t written;  /* bytes of the piece */
    Buffer text;     /* written from it */
    bool is_working; /* a job thread has all of this */
    bool is_over;    /* the end has been written */
} Sending;

static size_t
piece_size(const Sending *sending)
{
    return sending->is_wide ? WIDE_PIECE : NARROW_PIECE;
}

/* Returns how many bytes may be queued while the next piece is read. */
static size_t
queue_size(const Sending *sending)
{
    return sending->is_wide ? WIDE_ROOM / 2 : NARROW_ROOM / 2;
}

static Status
read_bytes(Call *call, JobContext *job_context, Sending *sending)
{
    Store *store = NULL;
    const BlobSend *send = &sending->send;
    uint64_t left = sending->left.size;
    size_t size = left < piece_size(sending) ? (size_t)left : piece_size(sending);
    BlobRange range = {.offset = sending->left.offset, .size = size};
    buffer_clear(&sending->piece);
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    TRY(blobs_read(call, store, send->tenant, &send->digest, range, &sending->piece));
    if (sending->piece.size != size) {
        return call_fail(call, STATUS_DATA_LOSS, "a blob is shorter than its size");
    }
    sending->written = 0;
    sending->left.offset += size;
    sending->left.size -= size;
    return STATUS_OK;
}

/* Writes the next bytes of the piece, or the end behind the last one. */
static Status
write_bytes(Call *call, Sending *sending)
{
    const BlobSend *send = &sending->send;
    Slice bytes = slice_part(buffer_slice(&sending->piece), sending->written, TURN_SIZE);
    send->write(send->writer, bytes, &sending->text);
    sending->written += bytes.size;
    sending->is_over = bytes.size == 0;
    return buffer_is_ok(&sending->text) ? STATUS_OK : call_fail_memory(call, "the text of a blob");
}

/* Reads and writes with a call of its own: the request's deadline is over when its reader is slow. */
static Status
work_on_job(Call *call, JobContext *job_context, void *owner)
{
    (void)call;
    Sending *sending = owner;
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call work = {.arena = arena, .deadline_ns = clock_monotonic_ns() + READ_TIMEOUT_MS * CLOCK_NS_PER_MS};
    Status status = arena == NULL ? call_fail_memory(&work, "the bytes of a blob") : STATUS_OK;
    bool needs_piece = sending->written == sending->piece.size && sending->left.size > 0;
    if (status == STATUS_OK && needs_piece) {
        status = read_bytes(&work, job_context, sending);
    }
    if (status == STATUS_OK && sending->send.write != NULL) {
        status = write_bytes(&work, sending);
    }
    if (status != STATUS_OK) {
        log_failure(LOG_WARNING, "a blob could not be sent whole", &work);
    }
    return status;
}

static void
end_sending(Sending *sending)
{
    memory_claim_close(&sending->claim);
    buffer_done(&sending->piece);
    buffer_done(&sending->text);
    exchange_unref(sending->exchange);
}

static void
release_bytes(void *bytes)
{
    memory_free(bytes);
}

/* Queues what a job thread has made. False: the stream is aborted. */
static bool
queue_bytes(Sending *sending)
{
    Buffer *made = sending->send.write == NULL ? &sending->piece : &sending->text;
    Buffer bytes = *made;
    *made = (Buffer){0};
    if (bytes.size == 0) {
        buffer_done(&bytes);
        return true;
    }
    return http_stream_write(sending->stream, buffer_slice(&bytes), release_bytes, bytes.data);
}

static void go_on(Sending *sending);

static void
work_is_done(Exchange *exchange, Status status, void *owner)
{
    (void)exchange;
    Sending *sending = owner;
    sending->is_working = false;
    if (sending->stream == NULL) {
        end_sending(sending);
    } else if (status != STATUS_OK) {
        http_stream_cut(sending->stream);
    } else if (queue_bytes(sending)) {
        go_on(sending);
    }
}

static bool
has_all(const Sending *sending)
{
    return sending->send.write == NULL ? sending->left.size == 0 : sending->is_over;
}

static void
widen_for_fast_reader(Sending *sending)
{
    if (!sending->is_wide && http_stream_is_starved(sending->stream, FAST_SIZE) &&
        memory_claim_widen(&sending->claim, WIDE_ROOM)) {
        sending->is_wide = true;
        http_stream_low(sending->stream, queue_size(sending));
    }
}

/* Reads or writes on, unless that is being done or enough waits to be sent. */
static void
go_on(Sending *sending)
{
    if (sending->is_working || !sending->has_room || sending->stream == NULL) {
        return;
    }
    widen_for_fast_reader(sending);
    if (has_all(sending)) {
        http_stream_end(sending->stream);
        return;
    }
    if (http_stream_is_full(sending->stream)) {
        return; /* until it has drained */
    }
    sending->is_working = exchange_offload(sending->exchange, work_on_job, work_is_done, sending);
    if (!sending->is_working) {
        http_stream_cut(sending->stream);
    }
}

static void
stream_is_drained(HttpStream *stream, void *owner)
{
    (void)stream;
    go_on(owner);
}

static void
stream_is_closed(void *owner, bool is_complete)
{
    (void)is_complete;
    Sending *sending = owner;
    sending->stream = NULL;
    if (!sending->is_working) {
        end_sending(sending);
    }
}

static void
room_is_granted(MemoryClaim *claim)
{
    Sending *sending = LIST_ITEM(claim, Sending, claim);
    sending->has_room = true;
    go_on(sending);
}

static void
claim_room(Sending *sending)
{
    const BlobSend *send = &sending->send;
    MemoryRoom room = MEMORY_ROOM_NEVER;
    sending->claim.granted = room_is_granted;
    if (memory_claim_open(&sending->claim, send->memory, send->tenant, exchange_loop(sending->exchange))) {
        room = memory_claim_await(&sending->claim, NARROW_ROOM);
    }
    sending->has_room = room == MEMORY_ROOM_TAKEN;
    if (room == MEMORY_ROOM_NEVER) {
        http_stream_cut(sending->stream);
    }
}

static void
tell_range(Response *response, const BlobSend *send)
{
    enum { HTTP_PARTIAL = 206 };
    response_status(response, HTTP_PARTIAL);
    response_header_format(response, "Content-Range", "bytes %llu-%llu/%llu",
        (unsigned long long)send->range.offset,
        (unsigned long long)(send->range.offset + send->range.size - 1),
        (unsigned long long)send->whole_size);
}

void
blob_send(Exchange *exchange, const BlobSend *send)
{
    static const HttpStreamEvents events = {.drained = stream_is_drained, .closed = stream_is_closed};
    assert(send->memory != NULL);

    Sending *sending = arena_alloc(exchange_call(exchange)->arena, sizeof *sending);
    if (sending == NULL) {
        exchange_fail(exchange, call_fail_memory(exchange_call(exchange), "a reply"));
        return;
    }
    *sending = (Sending){.send = *send, .exchange = exchange, .left = send->range};
    exchange_ref(exchange);
    sending->stream = exchange_stream(exchange, send->content_type, &events, sending);
    http_stream_low(sending->stream, queue_size(sending));
    if (send->whole_size > 0) {
        tell_range(exchange_response(exchange), send);
    }
    if (send->write == NULL) {
        http_stream_size(sending->stream, send->head.size + send->range.size);
    }
    exchange_finish(exchange);
    if (send->is_head || sending->stream == NULL) {
        return;
    }
    if (http_stream_copy(sending->stream, send->head)) {
        claim_room(sending);
        go_on(sending);
    }
}
