/* A holder of the bytes of uploaded blobs: PostgreSQL, a folder, an object store. A backend holds bytes and
 * nothing else: rows of `blobs`, `blob_uploads` and `blob_removals` name every location that it may have
 * bytes for, and are committed before the first byte is written, so that a crash leaves nothing for ever.
 *
 * A location is "<scheme>:<path>", the path being the backend's own, and never used twice. Its bytes are
 * written in parts, one after another, all but the last of them `part_size` long, and can be read when they
 * are finished. A method that was interrupted or has failed can be called again.
 *
 * Ownership: who opened a backend frees it, after all stores that use it; texts that methods return live in
 *            the call's arena.
 * Threads:   any; parts of one location by one thread at a time.
 * Errors:    UNAVAILABLE when the backend cannot be reached or is full (worth another try); DATA_LOSS when
 *            bytes that should be there are not; FAILED_PRECONDITION for a location of another backend than
 *            the one that is set up. */
#pragma once

#include "gateway/store/connection.h"
#include "shared/base/buffer.h"
#include "shared/crypto/digest.h"

typedef struct BlobRange {
    uint64_t offset;
    size_t size;
} BlobRange;

/* The bytes of one blob in a backend, present or future. */
typedef struct BlobObject {
    Store *store; /* of the thread that asks */
    TenantId tenant;
    const char *location;
    const char *state; /* of an upload: what `begin` returned */
} BlobObject;

typedef struct BlobPart {
    uint64_t number; /* from 0 */
    uint64_t offset;
    Slice bytes;
} BlobPart;

/* All parts of a blob. */
typedef struct BlobParts {
    const char *const *tags; /* what `write` returned for each part; NULL without has_state */
    size_t count;
    uint64_t size; /* of all together */
} BlobParts;

struct BlobBackend {
    const char *scheme;
    bool has_state;        /* `begin` returns a state, and `finish` needs what `write` returned */
    bool is_transactional; /* `write` runs in the transaction that notes the part, behind its row's lock */

    /* Returns how large the parts of a blob of this size are, a multiple of 64; 0 when it is too large. */
    size_t (*part_size)(const BlobBackend *backend, uint64_t size);

    /* Makes a location that was never used. */
    MUST_USE Status (*locate)(Call *call, const BlobBackend *backend, TenantId tenant, const Sha256 *digest,
        const char **ret_location);

    /* NULL without has_state. */
    MUST_USE Status (*begin)(
        Call *call, BlobBackend *backend, const BlobObject *object, const char **ret_state);

    /* Returns when the bytes, once the transaction is committed, would survive a loss of power. A part that
     * is written again replaces the first. *ret_tag is untouched without has_state. */
    MUST_USE Status (*write)(Call *call, BlobBackend *backend, const BlobObject *object, const BlobPart *part,
        const char **ret_tag);
    MUST_USE Status (*finish)(
        Call *call, BlobBackend *backend, const BlobObject *object, const BlobParts *parts);

    /* Appends the bytes of the range, which lies within the finished blob. */
    MUST_USE Status (*read)(
        Call *call, BlobBackend *backend, const BlobObject *object, BlobRange range, Buffer *ret_bytes);

    /* Removes what there is, finished or not. */
    MUST_USE Status (*remove)(Call *call, BlobBackend *backend, const BlobObject *object);

    void (*free)(BlobBackend *backend); /* NULL: it is static */
};

/* Pieces of 1 MiB in the table blob_pieces; always there, whatever the store was opened with. */
extern BlobBackend blob_backend_postgres;

/* Appends a range of the bytes in one row of the object's tenant: the statement's last parameters are where
 * it begins, from 1 on, and its size. ABORTED when the blob is gone. */
MUST_USE Status blob_row_read(Call *call, const BlobObject *object, const Statement *statement,
    Values *values, BlobRange range, Buffer *ret_bytes);

/* Finds the backend of a location. */
MUST_USE Status blob_backend_find(Call *call, Store *store, const char *location, BlobBackend **ret_backend);
