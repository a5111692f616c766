/* PutBlob: the bytes of a large constant, under their SHA-256. Idempotent. */
#include <string.h>

#include "shared/crypto/digest.h"
#include "worker/serve/worker.h"

enum { BLOB_SIZE_MAX = 1 << 30 };

static Status
finish(WorkerRequest *request)
{
    Call *const call = &request->call;
    const Slice bytes = buffer_slice(&request->body);
    Sha256 actual;
    char actual_text[SHA256_HEX_SIZE];
    sha256(bytes, &actual);
    sha256_to_hex(&actual, actual_text);
    if (!slice_equals_string(request->parameters[0], actual_text)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the body's digest is %s, not '%.*s'", actual_text,
            SLICE_PRINT(request->parameters[0]));
    }
    TensorBuffer *const blob = request->worker->device->allocate(request->worker->device, bytes.size);
    if (blob == NULL) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "no room on the device for a blob of %zu bytes", bytes.size);
    }
    if (bytes.size > 0) {
        memcpy(blob->data, bytes.data, bytes.size);
    }
    const Status status = blob_cache_put(call, request->worker->blobs,
        (BlobKey){.tenant = request->tenant, .sha256 = request->parameters[0]}, blob);
    tensor_buffer_unref(blob);
    TRY(status);
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

WORKER_METHOD(put_blob) = {
    .name = "PutBlob",
    .verb = "PUT",
    .path = "/worker/v1/blobs/{sha256}",
    .body = BODY_DOCUMENT,
    .body_size_max = BLOB_SIZE_MAX,
    .finish = finish,
};
