/* PutBlob: stores the bytes of a large constant under their SHA-256. Idempotent. Each piece of the body is
 * copied to its final position and hashed as it arrives: a blob is never held twice, and no piece holds up
 * the loop for long. */
#include <string.h>

#include "shared/base/memory.h"
#include "shared/crypto/digest.h"
#include "worker/serve/worker.h"

enum { BLOB_SIZE_MAX = 1 << 30 };

typedef struct Upload {
    TensorBuffer *blob;
    Sha256State *digest;
} Upload;

static Status
begin_upload(WorkerRequest *request)
{
    Device *device = request->worker->device;
    Upload *upload = arena_alloc(request->call.arena, sizeof *upload);
    if (upload == NULL) {
        return call_fail_memory(&request->call, "an upload");
    }
    request->context = upload;
    upload->digest = sha256_begin();
    upload->blob = device->allocate(device, request->body_size);
    if (upload->digest == NULL || upload->blob == NULL) {
        return call_fail(&request->call, STATUS_RESOURCE_EXHAUSTED,
            "no room on the device for a blob of %llu bytes", (unsigned long long)request->body_size);
    }
    return STATUS_OK;
}

static Status
take_bytes(WorkerRequest *request, Slice bytes)
{
    const Upload *upload = request->context;
    char *end = (char *)upload->blob->data + request->body_seen;
    memcpy(end - bytes.size, bytes.data, bytes.size);
    sha256_update(upload->digest, bytes);
    return STATUS_OK;
}

static Status
keep_blob(WorkerRequest *request)
{
    Upload *upload = request->context;
    Slice expected = request->parameters[0];
    Sha256 actual;
    char actual_text[SHA256_HEX_SIZE];
    sha256_end(TAKE(upload->digest), &actual);
    sha256_to_hex(&actual, actual_text);
    if (!slice_equals_string(expected, actual_text)) {
        return call_fail(&request->call, STATUS_INVALID_ARGUMENT, "the body's digest is %s, not '%.*s'",
            actual_text, SLICE_PRINT(expected));
    }
    TRY(cache_put(&request->call, request->worker->blobs,
        (CacheKey){.tenant = request->tenant, .digest = expected}, upload->blob));
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

static void
end_upload(WorkerRequest *request)
{
    Upload *upload = request->context;
    if (upload != NULL) {
        sha256_abandon(upload->digest);
        tensor_buffer_unref(upload->blob);
    }
}

WORKER_METHOD(put_blob) = {
    .name = "PutBlob",
    .verb = "PUT",
    .path = "/worker/v1/blobs/{sha256}",
    .body = BODY_BYTES,
    .body_size_max = BLOB_SIZE_MAX,
    .begin = begin_upload,
    .data = take_bytes,
    .finish = keep_blob,
    .closed = end_upload,
};
