#include "gateway/blobs/blob_body.h"

#include <assert.h>

#include "gateway/blobs/byte_range.h"
#include "gateway/jobs/job_context.h"
#include "gateway/resources/resource.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { HTTP_LENGTH_REQUIRED = 411, HTTP_TOO_LARGE = 413, END_MS = 10000 };

/* Reads what the headers say of the body: its place and the size of the whole. */
static Status
read_wanted(Call *call, const Request *request, Response *response, BlobWanted *wanted)
{
    uint64_t length = 0;
    ContentRange range = {0};
    Slice content_range = request_header(request, "Content-Range");
    bool has_length = slice_to_uint64(request_header(request, "Content-Length"), &length) ||
                      request_header(request, "Transfer-Encoding").data == NULL;
    if (content_range.data == NULL) {
        wanted->size = length;
        return has_length ? STATUS_OK
                          : response_fail(call, response, HTTP_LENGTH_REQUIRED,
                                "the size of the blob is not known: send Content-Length or Content-Range");
    }
    TRY(content_range_read(call, content_range, &range));
    if (has_length && length != range.size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "Content-Range names %llu bytes, the body has %llu",
            (unsigned long long)range.size, (unsigned long long)length);
    }
    wanted->size = range.total;
    wanted->offset = range.is_empty ? BLOB_OFFSET_ANY : range.offset;
    return STATUS_OK;
}

static Status
open_body(Call *call, BlobStore *blobs, const Request *request, Response *response, const BlobWanted *wanted,
    BlobBody *body)
{
    Store *store = NULL;
    TRY(request_store(call, request, &store));
    body->size = wanted->size;
    body->offset = BLOB_OFFSET_ANY;
    Status status = blob_upload_open(call, blobs, store, wanted, &body->upload, &body->offset);
    if (status == STATUS_ABORTED && body->offset != BLOB_OFFSET_ANY) {
        response_header_format(response, "Upload-Offset", "%llu", (unsigned long long)body->offset);
    }
    return status;
}

Status
blob_body_begin(Call *call, BlobStore *blobs, const Request *request, Response *response,
    const Sha256 *digest, BlobBody **ret_body)
{
    uint64_t size_max = blob_store_limits(blobs)->blob_bytes;
    BlobWanted wanted = {.tenant = request->principal.tenant, .is_unnamed = digest == NULL};
    if (digest != NULL) {
        wanted.digest = *digest;
    }
    TRY(read_wanted(call, request, response, &wanted));
    if (wanted.size > size_max) {
        return response_fail(call, response, HTTP_TOO_LARGE,
            "the blob has %llu bytes, the limit blob_bytes is %llu", (unsigned long long)wanted.size,
            (unsigned long long)size_max);
    }
    BlobBody *body = memory_new(1, sizeof *body);
    if (body == NULL) {
        return call_fail_memory(call, "an upload");
    }
    body->digest = wanted.digest;
    Status status = open_body(call, blobs, request, response, &wanted, body);
    if (status != STATUS_OK) {
        memory_free(body);
        return status;
    }
    *ret_body = body;
    return STATUS_OK;
}

Status
blob_body_take(Call *call, JobContext *job_context, void *state, Slice window)
{
    BlobBody *body = state;
    Store *store = NULL;
    if (body->upload == NULL) {
        return STATUS_OK;
    }
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    TRY(blob_upload_write(call, store, body->upload, window));
    body->offset = blob_upload_offset(body->upload);
    return STATUS_OK;
}

Status
blob_body_finish(Call *call, const Request *request, BlobBody *body)
{
    Store *store = NULL;
    if (body->upload == NULL || body->offset < body->size) {
        return STATUS_OK;
    }
    TRY(request_store(call, request, &store));
    return blob_upload_finish(call, store, body->upload, &body->digest, &body->is_new);
}

void
blob_body_end(JobContext *job_context, void *state)
{
    BlobBody *body = state;
    Store *store = NULL;
    Call call = {.deadline_ns = clock_monotonic_ns() + END_MS * CLOCK_NS_PER_MS};
    if (job_context != NULL && body->upload != NULL &&
        job_store(&call, job_context, STORE_ROLE_APP, &store) != STATUS_OK) {
        store = NULL;
    }
    blob_upload_close(body->upload, store);
    memory_free(body);
}
