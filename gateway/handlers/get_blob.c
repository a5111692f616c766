/* getBlob: returns a blob's bytes, or a range of them. HEAD says how far an upload has come. */
#include "gateway/blobs/blob_reply.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"

static void
start_get_blob(Exchange *exchange)
{
    static const BlobReplyOptions options = {
        .content_type = "application/octet-stream", .noun = "blob", .shows_uploads = true};
    blob_reply(exchange, exchange_request(exchange)->parts->outputs, &options);
}

HANDLER(get_blob) = {
    .operation_id = "getBlob",
    .method = "GET",
    .path = "/api/v1/blobs/{sha256}",
    .access = ACCESS_TENANT,
    .is_long = true,
    .start = start_get_blob,
};
