/* Rows of uploads that are under way, and of bytes that are to be removed: what is known of every location
 * that a BlobBackend may have bytes for, beside the blobs themselves.
 *
 * One request at a time writes an upload: it claims it, with a fence that is higher than all before and a
 * lease that each part renews. A writer whose lease has run out and that another one has followed changes
 * nothing any more.
 *
 * Ownership: texts and bytes that are read live in call->arena.
 * Threads:   the thread of the Store.
 * Errors:    ABORTED when another request writes the upload, or has ended it; RESOURCE_EXHAUSTED when the
 *            quota of stored bytes is used up, in which uploads count with their whole size. */
#pragma once

#include "gateway/store/connection.h"

enum { UPLOAD_LEASE_MS = 20000 };

typedef struct StoredUpload {
    Sha256 digest; /* its name: the digest of its bytes when that is known ahead, else random */
    uint64_t size; /* of the whole blob */
    const char *location;
    const char *state;  /* BlobObject.state */
    uint64_t received;  /* bytes in the backend: whole parts */
    Slice digest_state; /* of SHA-256 over these (sha256_chain_to_bytes()); of all bytes, their digest */
    Slice tail;         /* bytes behind these, for who has claimed the upload */
    uint64_t tail_size;
    int64_t fence;         /* of the request that claimed it last */
    bool is_being_written; /* a lease runs */
} StoredUpload;

/* Finds an upload. NOT_FOUND when there is none. */
MUST_USE Status uploads_find(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, StoredUpload *ret_upload);

/* Claims an upload. NOT_FOUND when there is none. */
MUST_USE Status uploads_claim(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, StoredUpload *ret_upload);

/* Begins an upload of `upload->digest`, `size` and `location`, and claims it: sets `fence`. */
MUST_USE Status uploads_insert(Call *call, Store *store, TenantId tenant, StoredUpload *upload);

/* Keeps `upload->state`. */
MUST_USE Status uploads_set_state(Call *call, Store *store, TenantId tenant, const StoredUpload *upload);

/* Notes that the part behind `upload->received`, up to `received`, is in the backend. `digest_state` is that
 * of all then; `tag` what the backend returned for the part with this number, NULL: nothing that it wants
 * back. In the caller's transaction, in which the row stays locked. */
typedef struct UploadStep {
    uint64_t received;
    Slice digest_state;
    uint64_t number;
    const char *tag;
} UploadStep;

MUST_USE Status uploads_advance(
    Call *call, Store *store, TenantId tenant, const StoredUpload *upload, const UploadStep *step);

/* Lists the tags of all parts in order. */
MUST_USE Status uploads_tags(Call *call, Store *store, TenantId tenant, const Sha256 *digest,
    const char *const **ret_tags, size_t *ret_count);

/* Gives up the claim, and keeps the tail. */
MUST_USE Status uploads_pause(
    Call *call, Store *store, TenantId tenant, const StoredUpload *upload, Slice tail);

/* Makes a blob of the upload, whose bytes have this digest; false when the blob was stored meanwhile. */
MUST_USE Status uploads_finish(Call *call, Store *store, TenantId tenant, const StoredUpload *upload,
    const Sha256 *digest, bool *ret_is_new);

/* Ends an upload, whoever writes it. False when there was none. */
MUST_USE Status uploads_drop(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, bool *ret_is_dropped);

/* Ends at most `count_max` uploads that nobody has written for `age_s` seconds. */
MUST_USE Status uploads_expire(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_ended);

/* Removes the bytes of at most `count_max` locations that are due. What a backend cannot remove now is tried
 * again later, with growing pauses; what takes longer than some seconds goes on with the next call.
 * *ret_removed counts those that are gone. */
MUST_USE Status removals_do(
    Call *call, Store *store, TenantId tenant, size_t count_max, uint64_t *ret_removed);
