/* getTensor: returns a .npy file as it was sent, or a range of it. Blobs of other kinds, such as a graph's
 * source, are not found here: the magic number tells. */
#include "gateway/blobs/blob_reply.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"

static void
start_get_tensor(Exchange *exchange)
{
    static const char magic[] = "\x93NUMPY";
    static const BlobReplyOptions options = {
        .content_type = "application/x-npy", .magic = {magic, sizeof magic - 1}, .noun = "tensor"};
    blob_reply(exchange, exchange_request(exchange)->parts->outputs, &options);
}

HANDLER(get_tensor) = {
    .operation_id = "getTensor",
    .method = "GET",
    .path = "/api/v1/tensors/{sha256}",
    .access = ACCESS_TENANT,
    .is_long = true,
    .start = start_get_tensor,
};
