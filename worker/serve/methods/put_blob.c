/* PutBlob: stores the bytes of a large constant under their SHA-256. Idempotent. Each piece of the body is
 * taken to its final position and hashed as it arrives: a blob is never held twice, and no piece holds up the
 * loop for long.
 *
 * A blob that is here already is answered at once, without its body; one that somebody else is just sending
 * is refused with the reason "blob_is_coming": it is here soon, or can be sent again. */
#include "worker/serve/metrics.h"
#include "worker/serve/worker.h"

#define BLOB_SIZE_MAX ((size_t)1 << 50) /* the device's memory ends sooner */

static Status
begin_upload(WorkerRequest *request)
{
    CacheKey key = {.tenant = request->tenant, .digest = request->parameters[0]};
    BlobState state = BLOB_IS_NEW;
    BlobArrival *arrival = NULL;
    TRY(blob_arrival_begin(
        &request->call, request->worker->blobs, key, request->body_size, &state, &arrival));
    request->context = arrival;
    if (state == BLOB_IS_HERE) {
        worker_answer_json(request, 200, SLICE("{}"));
    } else if (state == BLOB_IS_COMING) {
        worker_refuse_coming(request);
    }
    return STATUS_OK;
}

static Status
take_bytes(WorkerRequest *request, Slice bytes)
{
    return blob_arrival_write(&request->call, request->context, bytes);
}

static Status
keep_blob(WorkerRequest *request)
{
    bool is_wrong = false;
    Status status = blob_arrival_finish(&request->call, request->context, &is_wrong);
    if (is_wrong) {
        WireStatus refusal = {
            .failure = failure_of_call(&request->call, (Slice){0}),
            .reason = SLICE(WIRE_REASON_WRONG_DIGEST),
        };
        worker_answer_status(request, &refusal);
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        metrics_count_blob(BLOB_FROM_GATEWAY, request->body_size);
        worker_answer_json(request, 200, SLICE("{}"));
    }
    return status;
}

static void
end_upload(WorkerRequest *request)
{
    blob_arrival_end(request->context);
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
