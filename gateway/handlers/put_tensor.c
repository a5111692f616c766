/* putTensor: keeps a .npy file under the SHA-256 of its bytes, for feeds by reference. A file sent twice
 * is kept once; one that no step refers to is collected some time after it was last sent. A large file is
 * checked, hashed and stored as it comes. */
#include "gateway/blobs/blob_body.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"
#include "shared/base/memory.h"
#include "shared/json/writer.h"
#include "shared/tensor/npy.h"

enum { BUFFERED_SIZE_MAX = 4 << 20, CHUNKED_SIZE_MAX = 64 << 20 };

/* A file that is stored while it comes. */
typedef struct TensorBody {
    BlobBody *blob;
    NpyCheck check;
} TensorBody;

static Status
read_digest(Call *call, const Request *request, Sha256 *ret_digest)
{
    TRY(sha256_parse_hex(call, request_parameter(request, "sha256"), ret_digest));
    return request_header(request, "Content-Range").data == NULL
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "a tensor is sent whole, without Content-Range; putBlob takes parts");
}

static Status
begin_file(Call *call, const Request *request, Response *response, void **ret_state)
{
    Sha256 digest;
    TRY(read_digest(call, request, &digest));
    TensorBody *body = memory_new(1, sizeof *body);
    if (body == NULL) {
        return call_fail_memory(call, "a tensor");
    }
    Status status = blob_body_begin(call, request->parts->blobs, request, response, NULL, &body->blob);
    if (status != STATUS_OK) {
        memory_free(body);
        return status;
    }
    blob_upload_expect(body->blob->upload, &digest);
    *ret_state = body;
    return STATUS_OK;
}

static Status
take_window(Call *call, JobContext *job_context, void *state, Slice window)
{
    TensorBody *body = state;
    TRY(npy_check_write(call, &body->check, window, SIZE_MAX));
    return blob_body_take(call, job_context, body->blob, window);
}

static void
end_file(JobContext *job_context, void *state)
{
    TensorBody *body = state;
    blob_body_end(job_context, body->blob);
    npy_check_done(&body->check);
    memory_free(body);
}

/* A small file, and one whose size is not announced, is buffered. */
static const BodyTaker *
choose_taker(const Request *request)
{
    static const BodyTaker taker = {
        .window_size = BLOB_BODY_WINDOW_SIZE, .begin = begin_file, .take = take_window, .end = end_file};
    uint64_t size = 0;
    bool is_plain = request_header(request, "Content-Encoding").data == NULL;
    bool is_large =
        slice_to_uint64(request_header(request, "Content-Length"), &size) && size > BUFFERED_SIZE_MAX;
    return is_plain && is_large ? &taker : NULL;
}

static Status
check_digest(Call *call, const Request *request, Sha256 *ret_digest)
{
    char hex[SHA256_HEX_SIZE];
    Sha256 named;
    TRY(read_digest(call, request, &named));
    sha256(request->body, ret_digest);
    if (!sha256_equal(&named, ret_digest)) {
        sha256_to_hex(ret_digest, hex);
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the body's digest is %s, not the path's %.*s", hex,
            SLICE_PRINT(request_parameter(request, "sha256")));
    }
    return STATUS_OK;
}

static void
write_tensor(Response *response, const Sha256 *digest, const Tensor *tensor, uint64_t size)
{
    char hex[SHA256_HEX_SIZE];
    char ref[SHA256_REF_SIZE];
    sha256_to_hex(digest, hex);
    sha256_to_ref(digest, ref);
    response_etag(response, hex);
    response_header_format(response, "Location", "/api/v1/tensors/%s", hex);
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_member_string(&writer, "ref", ref);
    json_member_string(&writer, "dtype", dtype_name(tensor->dtype));
    json_write_name(&writer, "shape");
    json_write_array_begin(&writer);
    for (int axis = 0; axis < tensor->shape.rank; axis++) {
        json_write_int64(&writer, tensor->shape.dims[axis]);
    }
    json_write_array_end(&writer);
    json_member_uint64(&writer, "size", size);
    json_write_object_end(&writer);
}

/* Checks a whole file; *ret_described gets its dtype and shape. */
static Status
check_file(Call *call, Slice file, Tensor *ret_described)
{
    NpyCheck check = {0};
    Status status = npy_check_write(call, &check, file, SIZE_MAX);
    status = status == STATUS_OK ? npy_check_end(call, &check) : status;
    *ret_described = check.head.described;
    npy_check_done(&check);
    return status;
}

static Status
put_buffered(Call *call, const Request *request, Response *response)
{
    Sha256 digest;
    Tensor described;
    uint64_t size = 0;
    Store *store = NULL;
    TenantId tenant = request->principal.tenant;
    TRY(check_digest(call, request, &digest));
    TRY(check_file(call, request->body, &described));
    TRY(request_store(call, request, &store));
    Status found = blobs_find(call, store, tenant, &digest, &size);
    if (found != STATUS_OK && found != STATUS_NOT_FOUND) {
        return found;
    }
    TRY(blobs_put(call, store, tenant, &digest, request->body));
    response_status(response, found == STATUS_OK ? 200 : 201);
    write_tensor(response, &digest, &described, request->body.size);
    return STATUS_OK;
}

static Status
put_taken(Call *call, const Request *request, const TensorBody *body, Response *response)
{
    BlobBody *blob = body->blob;
    TRY(npy_check_end(call, &body->check));
    TRY(blob_body_finish(call, request, blob));
    response_status(response, blob->is_new ? 201 : 200);
    write_tensor(response, &blob->digest, &body->check.head.described, blob->size);
    return STATUS_OK;
}

static Status
run_put_tensor(Call *call, const Request *request, Response *response)
{
    return request->sink_state == NULL ? put_buffered(call, request, response)
                                       : put_taken(call, request, request->sink_state, response);
}

static const char *const body_types[] = {"application/x-npy", "application/octet-stream", NULL};

HANDLER(put_tensor) = {
    .operation_id = "putTensor",
    .method = "PUT",
    .path = "/api/v1/tensors/{sha256}",
    .access = ACCESS_TENANT,
    .body_size_max = CHUNKED_SIZE_MAX,
    .body_limit = "blob_bytes",
    .body_types = body_types,
    .is_long = true,
    .run = run_put_tensor,
    .taker = choose_taker,
};
