/* putTensor: keeps a .npy file under the SHA-256 of its bytes, for feeds by reference. A file sent twice
 * is kept once; one that no step refers to is collected some time after it was last sent. */
#include <stdio.h>

#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/tensors/tensor_blob.h"
#include "shared/json/writer.h"
#include "shared/tensor/npy.h"

static Status
check_digest(Call *call, const Request *request, Sha256 *ret_digest)
{
    char hex[SHA256_HEX_SIZE];
    Sha256 named;
    Slice text = request_parameter(request, "sha256");
    if (!sha256_from_hex(text, &named)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is not 64 lower-case hex digits",
            SLICE_PRINT(slice_part(text, 0, 80)));
    }
    sha256(request->body, ret_digest);
    if (!sha256_equal(&named, ret_digest)) {
        sha256_to_hex(ret_digest, hex);
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the body's digest is %s, not the path's %.*s", hex,
            SLICE_PRINT(text));
    }
    return STATUS_OK;
}

static void
write_tensor(Response *response, const Sha256 *digest, const Tensor *tensor, size_t size)
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

static Status
run_put_tensor(Call *call, const Request *request, Response *response)
{
    Sha256 digest;
    uint64_t size = 0;
    Store *store = NULL;
    AUTO_TENSOR tensor = {0};
    TenantId tenant = request->principal.tenant;
    TRY(check_digest(call, request, &digest));
    TRY(npy_read(call, request->body, BLOB_PUT_SIZE_MAX, &tensor));
    TRY(request_store(call, request, &store));
    Status found = blobs_find(call, store, tenant, &digest, &size);
    if (found != STATUS_OK && found != STATUS_NOT_FOUND) {
        return found;
    }
    TRY(blobs_put(call, store, tenant, &digest, request->body));
    response_status(response, found == STATUS_OK ? 200 : 201);
    write_tensor(response, &digest, &tensor, request->body.size);
    return STATUS_OK;
}

static const char *const body_types[] = {"application/x-npy", "application/octet-stream", NULL};

HANDLER(put_tensor) = {
    .operation_id = "putTensor",
    .method = "PUT",
    .path = "/api/v1/tensors/{sha256}",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)64 << 20,
    .body_types = body_types,
    .is_long = true,
    .run = run_put_tensor,
};
