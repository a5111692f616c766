/* A request's body that becomes a blob: a BodyTaker's state, for handlers whose bodies may have any size.
 * Windows of the body go into a BlobUpload as they come.
 *
 * Ownership: blob_body_begin() makes the state, blob_body_end() frees it; between them it is
 *            request->sink_state.
 * Threads:   job threads; blob_body_end() any.
 * Errors:    those of blob_upload.h; 411 for a body whose size is not announced; 413 above the limit
 *            blob_bytes. */
#pragma once

#include "gateway/blobs/blob_upload.h"
#include "gateway/http/handler.h"

enum { BLOB_BODY_WINDOW_SIZE = 1 << 20 };

typedef struct BlobBody {
    BlobUpload *upload; /* NULL: the blob was there already, and the bytes are thrown away */
    Sha256 digest;
    uint64_t size;   /* of the whole blob */
    uint64_t offset; /* how far it has come */
    bool is_new;     /* set by blob_body_finish() */
} BlobBody;

/* Begins a body that is a part of the blob `digest`, as Content-Range says, or all of it. NULL: the whole of
 * a blob whose digest is not known ahead. Of a wrong offset the response says in Upload-Offset where to go
 * on. */
MUST_USE Status blob_body_begin(Call *call, BlobStore *blobs, const Request *request, Response *response,
    const Sha256 *digest, BlobBody **ret_body);

/* Is BodyTaker.take of a BlobBody. */
MUST_USE Status blob_body_take(Call *call, JobContext *job_context, void *state, Slice window);

/* Makes a blob of it when all bytes have come: body->offset is body->size then, and digest and is_new are
 * set. */
MUST_USE Status blob_body_finish(Call *call, const Request *request, BlobBody *body);

/* Is BodyTaker.end of a BlobBody: keeps what has come. Without a job thread (NULL) see
 * blob_upload_close(). */
void blob_body_end(JobContext *job_context, void *state);
