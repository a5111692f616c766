/* Uploads of blobs: bytes that come in order, from an offset on, perhaps over several requests and several
 * gateways. They are hashed and written part by part as they come; whoever goes on begins where the last
 * whole part, or an orderly end, left off.
 *
 * The digest is checked before the last part is written: an upload whose row says that all bytes are there
 * needs no second look. Bytes with another digest end the upload.
 *
 * Ownership: blob_upload_open() claims the upload, blob_upload_close() gives it up and frees.
 * Threads:   job threads, one at a time, with any thread's Store.
 * Errors:    ABORTED when another request writes these bytes or has ended the upload, and when the offset is
 *            not where it goes on; INVALID_ARGUMENT for a wrong digest or size; RESOURCE_EXHAUSTED by quota;
 *            UNAVAILABLE when too many uploads are under way or the backend is gone or full. What was written
 *            before a failure stays, and the upload can go on. */
#pragma once

#include "gateway/blobs/blob_store.h"

typedef struct BlobUpload BlobUpload;

typedef struct BlobWanted {
    TenantId tenant;
    Sha256 digest;
    bool is_unnamed; /* the digest is not known ahead: nobody can go on with this upload */
    uint64_t size;   /* of the whole blob */
    uint64_t offset; /* where the bytes that come go on; BLOB_OFFSET_ANY: no bytes come */
} BlobWanted;

#define BLOB_OFFSET_ANY UINT64_MAX

/* Opens an upload, which is begun when there is none. *ret_upload is NULL when the whole blob is stored
 * already. *ret_offset is how far the upload has come; it is set for a wrong offset, too. */
MUST_USE Status blob_upload_open(Call *call, BlobStore *blobs, Store *store, const BlobWanted *wanted,
    BlobUpload **ret_upload, uint64_t *ret_offset);

/* Sets the digest that the bytes of an unnamed upload must have at its end. */
void blob_upload_expect(BlobUpload *upload, const Sha256 *digest);

/* Takes the next bytes. OUT_OF_RANGE behind the blob's end. */
MUST_USE Status blob_upload_write(Call *call, Store *store, BlobUpload *upload, Slice bytes);

/* Returns how many bytes have been taken in all. */
uint64_t blob_upload_offset(const BlobUpload *upload);
uint64_t blob_upload_size(const BlobUpload *upload); /* of the whole blob */

/* Makes a blob of an upload that has all its bytes. *ret_is_new is false when somebody else stored them
 * first; *ret_digest is the bytes'. */
MUST_USE Status blob_upload_finish(
    Call *call, Store *store, BlobUpload *upload, Sha256 *ret_digest, bool *ret_is_new);

/* Keeps what has come and gives the upload up, so that another request can go on at once. Without a store
 * (NULL) bytes behind the last whole part are lost, and others wait for the lease to end. NULL is allowed. */
void blob_upload_close(BlobUpload *upload, Store *store);
