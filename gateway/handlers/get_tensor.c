/* getTensor: returns a .npy file as it was sent. */
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/tensors/tensor_blob.h"

static Status
fail_missing(Call *call, Slice digest)
{
    return call_fail(
        call, STATUS_NOT_FOUND, "there is no tensor '%.*s'", SLICE_PRINT(slice_part(digest, 0, 80)));
}

/* Blobs of other kinds, such as a graph's source, are not found here: the magic number tells. */
static Status
run_get_tensor(Call *call, const Request *request, Response *response)
{
    static const char magic[] = "\x93NUMPY";
    char hex[SHA256_HEX_SIZE];
    Sha256 digest;
    Store *store = NULL;
    AUTO_BUFFER bytes = {0};
    BlobRange all = {.offset = 0, .size = SIZE_MAX};
    Slice name = request_parameter(request, "sha256");
    if (!sha256_from_hex(name, &digest)) {
        return fail_missing(call, name);
    }
    TRY(request_store(call, request, &store));
    Status status = blobs_read(call, store, request->principal.tenant, &digest, all, &bytes);
    if (status == STATUS_NOT_FOUND ||
        (status == STATUS_OK && !slice_starts_with(buffer_slice(&bytes), slice_from_string(magic)))) {
        return fail_missing(call, name);
    }
    TRY(status);
    sha256_to_hex(&digest, hex);
    response_etag(response, hex);
    response_take(response, "application/x-npy", &bytes);
    return STATUS_OK;
}

HANDLER(get_tensor) = {
    .operation_id = "getTensor",
    .method = "GET",
    .path = "/api/v1/tensors/{sha256}",
    .access = ACCESS_TENANT,
    .is_long = true,
    .run = run_get_tensor,
};
