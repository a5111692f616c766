/* deleteBlob: ends an upload that is not finished, or removes a blob that nothing refers to. */
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"
#include "gateway/store/uploads.h"

static Status
run_delete_blob(Call *call, const Request *request, Response *response)
{
    Sha256 digest;
    Store *store = NULL;
    bool is_dropped = false;
    Slice name = request_parameter(request, "sha256");
    if (!sha256_from_hex(name, &digest)) {
        return call_fail(
            call, STATUS_NOT_FOUND, "there is no blob '%.*s'", SLICE_PRINT(slice_part(name, 0, 80)));
    }
    TRY(request_store(call, request, &store));
    TRY(uploads_drop(call, store, request->principal.tenant, &digest, &is_dropped));
    if (!is_dropped) {
        TRY(blobs_drop(call, store, request->principal.tenant, &digest));
    }
    response_status(response, 204);
    return STATUS_OK;
}

HANDLER(delete_blob) = {
    .operation_id = "deleteBlob",
    .method = "DELETE",
    .path = "/api/v1/blobs/{sha256}",
    .access = ACCESS_TENANT,
    .run = run_delete_blob,
};
