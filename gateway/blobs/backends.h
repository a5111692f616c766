/* The backends of the blob store besides PostgreSQL: a folder (folder.c) and a bucket of S3 (s3.c).
 *
 * Ownership: whoever opens a backend calls its `free`. It borrows the texts that it is opened with.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT for a setting that means nothing, FAILED_PRECONDITION for a folder in which no
 *            file can be written. */
#pragma once

#include "gateway/store/blob_backend.h"

/* The names that a new location is made of. The id makes it one that was never used. */
typedef struct LocationNames {
    char tenant[UUID_TEXT_SIZE];
    char digest[SHA256_HEX_SIZE];
    char id[UUID_TEXT_SIZE];
} LocationNames;

static inline LocationNames
location_names(TenantId tenant, const Sha256 *digest)
{
    LocationNames names = {.id = ""};
    uuid_to_text(tenant.value, names.tenant);
    sha256_to_hex(digest, names.digest);
    uuid_to_text(uuid_new(), names.id);
    return names;
}

typedef struct S3Options {
    const char *endpoint; /* "https://host": of all buckets */
    const char *region;
    const char *key_id; /* NULL: none */
    const char *secret; /* NULL: none */
} S3Options;

/* Opens the bucket of "bucket" or "bucket/prefix". */
MUST_USE Status s3_backend_open(
    Call *call, const S3Options *options, const char *path, BlobBackend **ret_backend);

/* Opens a folder, which exists, by its absolute path. */
MUST_USE Status folder_backend_open(Call *call, const char *path, BlobBackend **ret_backend);
