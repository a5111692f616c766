/* Happy path: the blob is found on a job thread → head and stream → a piece is read on a job thread → it is
 * queued in the stream → while the queue is low, the next piece is read.
 *
 * Failures: before the head, a problem document; behind it, the stream is cut, so that the client knows. A
 * client that is gone closes the stream; a read that is under way comes back to nobody and is dropped. */
#include "gateway/blobs/blob_reply.h"

#include <assert.h>

#include "gateway/blobs/byte_range.h"
#include "gateway/jobs/job_context.h"
#include "gateway/store/uploads.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    PIECE_SIZE = 1 << 20,
    QUEUED_MAX = 2 << 20,
    ARENA_SIZE_MAX = 1 << 20,
    READ_TIMEOUT_MS = 60000,
    HTTP_NO_CONTENT = 204,
    HTTP_PARTIAL = 206,
    HTTP_UNSATISFIABLE = 416,
};

/* One reply; it lives in its exchange's arena. */
typedef struct BlobReply {
    const BlobReplyOptions *options;
    Exchange *exchange;
    HttpStream *stream; /* NULL: not begun, or closed */
    TenantId tenant;
    Sha256 digest;
    uint64_t size;     /* of the whole blob */
    uint64_t uploaded; /* bytes that have come; less than `size` for an upload */
    bool is_upload;
    ByteRange range; /* what is left to read */
    Buffer piece;    /* read, not queued yet */
    bool is_reading; /* a job thread has the reply */
} BlobReply;

static Status
fail_missing(Call *call, const BlobReply *reply, Slice name)
{
    return call_fail(call, STATUS_NOT_FOUND, "there is no %s '%.*s'", reply->options->noun,
        SLICE_PRINT(slice_part(name, 0, 80)));
}

static bool
is_head(const BlobReply *reply)
{
    return request_is_method(exchange_request(reply->exchange), "HEAD");
}

/* Finds what has come of a blob that is not whole. */
static Status
find_upload(Call *call, Store *store, BlobReply *reply)
{
    StoredUpload upload;
    TRY(uploads_find(call, store, reply->tenant, &reply->digest, &upload));
    reply->is_upload = true;
    reply->size = upload.size;
    reply->uploaded = upload.received + upload.tail_size;
    return STATUS_OK;
}

static Status
find_blob(Call *call, JobContext *job_context, void *owner)
{
    BlobReply *reply = owner;
    Store *store = NULL;
    AUTO_BUFFER head = {0};
    Slice magic = reply->options->magic;
    BlobRange beginning = {.size = magic.size};
    Slice name = request_parameter(exchange_request(reply->exchange), "sha256");
    if (!sha256_from_hex(name, &reply->digest)) {
        return fail_missing(call, reply, name);
    }
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    Status found = blobs_renew(call, store, reply->tenant, &reply->digest, &reply->size);
    if (found == STATUS_NOT_FOUND && reply->options->shows_uploads && is_head(reply)) {
        found = find_upload(call, store, reply);
    } else if (found == STATUS_OK && magic.size > 0) {
        TRY(blobs_read(call, store, reply->tenant, &reply->digest, beginning, &head));
        found = slice_equal(buffer_slice(&head), magic) ? STATUS_OK : STATUS_NOT_FOUND;
    }
    return found == STATUS_NOT_FOUND ? fail_missing(call, reply, name) : found;
}

static Status
read_piece(Call *call, JobContext *job_context, void *owner)
{
    (void)call; /* its deadline is the request's: a slow reader may take longer */
    BlobReply *reply = owner;
    Store *store = NULL;
    uint64_t left = reply->range.size;
    BlobRange range = {.offset = reply->range.offset, .size = left < PIECE_SIZE ? (size_t)left : PIECE_SIZE};
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call reading = {.arena = arena, .deadline_ns = clock_monotonic_ns() + READ_TIMEOUT_MS * CLOCK_NS_PER_MS};
    Status status = arena == NULL ? call_fail_memory(&reading, "the bytes of a blob")
                                  : job_store(&reading, job_context, STORE_ROLE_APP, &store);
    if (status == STATUS_OK) {
        status = blobs_read(&reading, store, reply->tenant, &reply->digest, range, &reply->piece);
    }
    if (status == STATUS_OK && reply->piece.size != range.size) {
        status = call_fail(&reading, STATUS_DATA_LOSS, "a blob is shorter than its size");
    }
    if (status != STATUS_OK) {
        log_failure(LOG_WARNING, "a blob could not be sent whole", &reading);
    }
    return status;
}

static void
release_bytes(void *bytes)
{
    memory_free(bytes);
}

static void
end_reply(BlobReply *reply)
{
    Exchange *exchange = reply->exchange;
    buffer_done(&reply->piece);
    exchange_unref(exchange);
}

static void read_more(BlobReply *reply);

static void
piece_is_read(Exchange *exchange, Status status, void *owner)
{
    (void)exchange;
    BlobReply *reply = owner;
    reply->is_reading = false;
    if (reply->stream == NULL) {
        end_reply(reply);
        return;
    }
    if (status != STATUS_OK) {
        http_stream_cut(reply->stream);
        return;
    }
    Buffer piece = reply->piece;
    reply->piece = (Buffer){0};
    reply->range.offset += piece.size;
    reply->range.size -= piece.size;
    if (http_stream_write(reply->stream, buffer_slice(&piece), release_bytes, piece.data)) {
        read_more(reply);
    }
}

/* Reads the next piece, unless one is being read or enough wait to be sent. */
static void
read_more(BlobReply *reply)
{
    if (reply->is_reading || reply->stream == NULL || http_stream_queued(reply->stream) >= QUEUED_MAX) {
        return;
    }
    if (reply->range.size == 0) {
        http_stream_end(reply->stream);
        return;
    }
    reply->is_reading = exchange_offload(reply->exchange, read_piece, piece_is_read, reply);
    if (!reply->is_reading) {
        http_stream_cut(reply->stream);
    }
}

static void
stream_is_drained(HttpStream *stream, void *owner)
{
    (void)stream;
    read_more(owner);
}

static void
stream_is_closed(void *owner, bool is_complete)
{
    (void)is_complete;
    BlobReply *reply = owner;
    reply->stream = NULL;
    if (!reply->is_reading) {
        end_reply(reply);
    }
}

static const HttpStreamEvents events = {.drained = stream_is_drained, .closed = stream_is_closed};

/* Begins the reply: the head says what is sent. */
static void
begin_reply(BlobReply *reply, bool is_part)
{
    char hex[SHA256_HEX_SIZE];
    Exchange *exchange = reply->exchange;
    Response *response = exchange_response(exchange);
    sha256_to_hex(&reply->digest, hex);
    exchange_ref(exchange);
    reply->stream = exchange_stream(exchange, reply->options->content_type, &events, reply);
    http_stream_size(reply->stream, reply->range.size);
    response_etag(response, hex);
    response_header(response, "Accept-Ranges", "bytes");
    if (is_part) {
        response_status(response, HTTP_PARTIAL);
        response_header_format(response, "Content-Range", "bytes %llu-%llu/%llu",
            (unsigned long long)reply->range.offset,
            (unsigned long long)(reply->range.offset + reply->range.size - 1),
            (unsigned long long)reply->size);
    }
    exchange_finish(exchange);
    if (!is_head(reply)) {
        read_more(reply);
    }
}

static void
refuse_range(const BlobReply *reply, Slice header)
{
    Call *call = exchange_call(reply->exchange);
    Response *response = exchange_response(reply->exchange);
    unsigned long long size = reply->size;
    response_header_format(response, "Content-Range", "bytes */%llu", size);
    exchange_fail(reply->exchange, response_fail(call, response, HTTP_UNSATISFIABLE,
                                       "the range '%.*s' lies behind the blob's %llu bytes",
                                       SLICE_PRINT(slice_part(header, 0, 80)), size));
}

static void
reply_blob(BlobReply *reply)
{
    Slice header = request_header(exchange_request(reply->exchange), "Range");
    reply->range = (ByteRange){.size = reply->size};
    RangeAnswer answer = range_read(header, reply->size, &reply->range);
    if (answer == RANGE_UNSATISFIABLE) {
        refuse_range(reply, header);
    } else {
        begin_reply(reply, answer == RANGE_PART);
    }
}

static void
reply_upload(BlobReply *reply)
{
    Response *response = exchange_response(reply->exchange);
    response_status(response, HTTP_NO_CONTENT);
    response_header_format(response, "Upload-Offset", "%llu", (unsigned long long)reply->uploaded);
    response_header_format(response, "Upload-Length", "%llu", (unsigned long long)reply->size);
    response_header(response, "Cache-Control", "no-store");
    exchange_finish(reply->exchange);
}

static void
blob_is_found(Exchange *exchange, Status status, void *owner)
{
    BlobReply *reply = owner;
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (reply->is_upload) {
        reply_upload(reply);
    } else {
        reply_blob(reply);
    }
}

void
blob_reply(Exchange *exchange, const BlobReplyOptions *options)
{
    BlobReply *reply = arena_alloc(exchange_call(exchange)->arena, sizeof *reply);
    if (reply == NULL) {
        exchange_fail(exchange, call_fail_memory(exchange_call(exchange), "a reply"));
        return;
    }
    *reply = (BlobReply){
        .options = options,
        .exchange = exchange,
        .tenant = exchange_request(exchange)->principal.tenant,
    };
    if (!exchange_offload(exchange, find_blob, blob_is_found, reply)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}
