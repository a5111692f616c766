/* PutBlob: stores the bytes of a large constant under their SHA-256. Idempotent. The loop only hands the
 * bytes on (blob_intake.h), and gives them back to the sender's window when they are written: a blob is never
 * held twice, and other requests of the loop wait for nothing.
 *
 * A blob that is here already is answered at once, without its body; one that somebody else is just sending
 * is refused with the reason "blob_is_coming": it is here soon, or can be sent again. */
#include "worker/serve/blob_intake.h"
#include "worker/serve/metrics.h"
#include "worker/serve/worker.h"

#define BLOB_SIZE_MAX ((size_t)1 << 50) /* the device's memory ends sooner */

static void
give_back(void *context, size_t size)
{
    const WorkerRequest *request = context;
    h2_stream_consume(request->stream, size);
}

static void
refuse_digest(WorkerRequest *request, const Call *call)
{
    WireStatus refusal = {
        .failure = failure_of_call(call, (Slice){0}),
        .reason = SLICE(WIRE_REASON_WRONG_DIGEST),
    };
    worker_answer_status(request, &refusal);
}

static void
answer_upload(void *context, const BlobIntakeEnd *end)
{
    WorkerRequest *request = context;
    request->context = NULL;
    if (request->is_over) {
        return; /* refused already */
    }
    if (end->state == BLOB_IS_COMING) {
        worker_refuse_coming(request);
    } else if (end->is_wrong) {
        refuse_digest(request, end->call);
    } else if (end->status != STATUS_OK) {
        worker_refuse(request, end->call);
    } else {
        if (end->state == BLOB_IS_NEW) {
            metrics_count_blob(BLOB_FROM_GATEWAY, request->body_size);
        }
        worker_answer_json(request, 200, SLICE("{}"));
    }
}

static Status
begin_upload(WorkerRequest *request)
{
    static const BlobIntakeEvents events = {.on_taken = give_back, .on_end = answer_upload};
    CacheKey key = {.tenant = request->tenant, .digest = request->parameters[0]};
    request->context = blob_intake_begin(
        request->worker->intakes, request->loop->loop, key, request->body_size, &events, request);
    return request->context == NULL ? call_fail_memory(&request->call, "a blob") : STATUS_OK;
}

static Status
take_bytes(WorkerRequest *request, Slice bytes)
{
    return blob_intake_write(request->context, bytes) ? STATUS_OK
                                                      : call_fail_memory(&request->call, "a blob's bytes");
}

static Status
end_body(WorkerRequest *request)
{
    blob_intake_finish(request->context);
    return STATUS_OK;
}

static void
end_upload(WorkerRequest *request)
{
    blob_intake_abandon(request->context);
}

WORKER_METHOD(put_blob) = {
    .name = "PutBlob",
    .verb = "PUT",
    .path = "/worker/v1/blobs/{sha256}",
    .body = BODY_BYTES,
    .body_size_max = BLOB_SIZE_MAX,
    .begin = begin_upload,
    .data = take_bytes,
    .finish = end_body,
    .closed = end_upload,
};
