/* Happy path: the blob is found on a job thread → the head says which range is sent → blob_send(). */
#include "gateway/blobs/blob_reply.h"

#include "gateway/blobs/blob_send.h"
#include "gateway/jobs/job_context.h"
#include "gateway/store/uploads.h"

enum {
    HTTP_NO_CONTENT = 204,
    HTTP_UNSATISFIABLE = 416,
};

/* One reply; it lives in its exchange's arena. */
typedef struct BlobReply {
    const BlobReplyOptions *options;
    Exchange *exchange;
    TenantMemory *memory;
    TenantId tenant;
    Sha256 digest;
    uint64_t size;     /* of the whole blob */
    uint64_t uploaded; /* bytes that have come; less than `size` for an upload */
    bool is_upload;
    ByteRange range; /* what is sent */
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

/* Sends the reply: the head says what is sent. */
static void
send_range(BlobReply *reply, bool is_part)
{
    char hex[SHA256_HEX_SIZE];
    Response *response = exchange_response(reply->exchange);
    BlobSend send = {
        .content_type = reply->options->content_type,
        .tenant = reply->tenant,
        .digest = reply->digest,
        .range = reply->range,
        .whole_size = is_part ? reply->size : 0,
        .memory = reply->memory,
        .is_head = is_head(reply),
    };
    sha256_to_hex(&reply->digest, hex);
    response_etag(response, hex);
    response_header(response, "Accept-Ranges", "bytes");
    blob_send(reply->exchange, &send);
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
        send_range(reply, answer == RANGE_PART);
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
blob_reply(Exchange *exchange, TenantMemory *memory, const BlobReplyOptions *options)
{
    BlobReply *reply = arena_alloc(exchange_call(exchange)->arena, sizeof *reply);
    if (reply == NULL) {
        exchange_fail(exchange, call_fail_memory(exchange_call(exchange), "a reply"));
        return;
    }
    *reply = (BlobReply){
        .options = options,
        .exchange = exchange,
        .memory = memory,
        .tenant = exchange_request(exchange)->principal.tenant,
    };
    if (!exchange_offload(exchange, find_blob, blob_is_found, reply)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}
