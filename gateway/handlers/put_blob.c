/* putBlob: keeps bytes of any size under their SHA-256, whole or piece by piece (Content-Range), over as many
 * requests as it takes. */
#include "gateway/blobs/blob_body.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "shared/json/writer.h"

static Status
begin_blob(Call *call, const Request *request, Response *response, void **ret_state)
{
    Sha256 digest;
    BlobBody *body = NULL;
    TRY(sha256_parse_hex(call, request_parameter(request, "sha256"), &digest));
    TRY(blob_body_begin(call, request->parts->blobs, request, response, &digest, &body));
    *ret_state = body;
    return STATUS_OK;
}

static const BodyTaker *
choose_taker(const Request *request)
{
    static const BodyTaker taker = {.window_size = BLOB_BODY_WINDOW_SIZE,
        .begin = begin_blob,
        .take = blob_body_take,
        .end = blob_body_end};
    (void)request;
    return &taker;
}

static Status
run_put_blob(Call *call, const Request *request, Response *response)
{
    enum { HTTP_CREATED = 201, HTTP_ACCEPTED = 202 };
    char hex[SHA256_HEX_SIZE];
    char ref[SHA256_REF_SIZE];
    BlobBody *body = request->sink_state;
    TRY(blob_body_finish(call, request, body));
    bool is_whole = body->offset == body->size;
    sha256_to_hex(&body->digest, hex);
    sha256_to_ref(&body->digest, ref);
    response_status(response, !is_whole ? HTTP_ACCEPTED : body->is_new ? HTTP_CREATED : 200);
    response_header_format(response, "Upload-Offset", "%llu", (unsigned long long)body->offset);
    if (is_whole) {
        response_etag(response, hex);
        response_header_format(response, "Location", "/api/v1/blobs/%s", hex);
    }
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_member_string(&writer, "ref", ref);
    json_member_uint64(&writer, "size", body->size);
    json_member_uint64(&writer, "offset", body->offset);
    json_write_object_end(&writer);
    return STATUS_OK;
}

HANDLER(put_blob) = {
    .operation_id = "putBlob",
    .method = "PUT",
    .path = "/api/v1/blobs/{sha256}",
    .access = ACCESS_TENANT,
    .body_size_max = SIZE_MAX,
    .body_limit = "blob_bytes",
    .deadline_ms = 900000, /* a store may join the parts of an object for minutes */
    .is_long = true,
    .run = run_put_blob,
    .taker = choose_taker,
};
