/* Declarations that the files of gateway/blobs share. Only this folder includes it. */
#pragma once

#include "gateway/blobs/blob_store.h"
#include "shared/base/list.h"
#include "shared/base/mutex.h"

/* An upload among those that are under way. */
typedef struct UploadSlot {
    ListLink link;
    TenantId tenant;
} UploadSlot;

struct BlobStore {
    const Limits *limits;
    uint64_t inline_size;
    BlobBackend *backend; /* NULL: PostgreSQL */
    Mutex mutex;          /* guards `uploads` */
    ListLink uploads;     /* UploadSlots */
};

/* Returns where a blob of this size goes. */
BlobBackend *blob_store_backend_for(const BlobStore *store, uint64_t size);

/* Counts an upload in, within the limits. UNAVAILABLE when there are too many. */
MUST_USE Status blob_store_enter(Call *call, BlobStore *store, UploadSlot *slot);
void blob_store_leave(BlobStore *store, UploadSlot *slot);

/* Opens the backend "s3://<path>" (s3.c). */
MUST_USE Status s3_backend_open(
    Call *call, const BlobStoreOptions *options, const char *path, BlobBackend **ret_backend);

/* Opens the backend "folder:<path>" (folder.c). */
MUST_USE Status folder_backend_open(
    Call *call, const BlobStoreOptions *options, const char *path, BlobBackend **ret_backend);
