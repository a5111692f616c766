/* Reading of blobs: a digest is located, by a blob of its own or as a range of another one; then bytes come
 * from chunks or from a backend. */
#include <assert.h>
#include <string.h>

#include "gateway/store/blobs.h"

STATEMENT(blob_locate);
STATEMENT(blob_chunk_find);
STATEMENT(blob_holders);

/* The location of the bytes of a digest. */
typedef struct Located {
    uint64_t size;
    Sha256 holder;        /* the blob that holds them */
    const char *location; /* the holder's; empty: chunks */
    uint64_t start;       /* in the holder */
} Located;

static Status
locate_blob(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Located *ret_located)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_digest(&values, digest);
    TRY(store_query(call, store, tenant, &sql_blob_locate, &values, &rows));
    if (rows.count == 0) {
        char hex[SHA256_HEX_SIZE];
        sha256_to_hex(digest, hex);
        return call_fail(call, STATUS_NOT_FOUND, "there are no bytes with the digest '%s'", hex);
    }
    Located located = {0};
    RowReader reader = row_reader(call, &rows, 0);
    located.size = (uint64_t)row_int64(&reader);
    located.holder = row_digest(&reader);
    located.location = row_text(&reader);
    located.start = (uint64_t)row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_located = located;
    return STATUS_OK;
}

Status
blobs_find(Call *call, Store *store, TenantId tenant, const Sha256 *digest, uint64_t *ret_size)
{
    assert(digest != NULL);

    Located located;
    TRY(locate_blob(call, store, tenant, digest, &located));
    *ret_size = located.size;
    return STATUS_OK;
}

/* Reads a range that lies in one chunk. */
static Status
read_chunk(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, BlobRange range, Buffer *ret_bytes)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_digest(&values, digest);
    values_int64(&values, (int64_t)(range.offset / BLOB_CHUNK_SIZE));
    range.offset %= BLOB_CHUNK_SIZE;
    BlobObject object = {.store = store, .tenant = tenant};
    return blob_row_read(call, &object, &sql_blob_chunk_find, &values, range, ret_bytes);
}

static Status
read_chunks(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, BlobRange range, Buffer *ret_bytes)
{
    for (uint64_t end = range.offset + range.size; range.offset < end; range.offset += range.size) {
        uint64_t in_chunk = BLOB_CHUNK_SIZE - range.offset % BLOB_CHUNK_SIZE;
        range.size = (size_t)(end - range.offset < in_chunk ? end - range.offset : in_chunk);
        TRY(read_chunk(call, store, tenant, digest, range, ret_bytes));
    }
    return STATUS_OK;
}

Status
blobs_read(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, BlobRange range, Buffer *ret_bytes)
{
    Located located;
    BlobBackend *backend = NULL;
    TRY(locate_blob(call, store, tenant, digest, &located));
    uint64_t left = range.offset < located.size ? located.size - range.offset : 0;
    if (left == 0 || range.size == 0) {
        return STATUS_OK;
    }
    range.size = range.size < left ? range.size : (size_t)left;
    range.offset += located.start;
    if (located.location[0] == '\0') {
        return read_chunks(call, store, tenant, &located.holder, range, ret_bytes);
    }
    BlobObject object = {.store = store, .tenant = tenant, .location = located.location};
    TRY(blob_backend_find(call, store, located.location, &backend));
    return backend->read(call, backend, &object, range, ret_bytes);
}

Status
blobs_get(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice *ret_bytes)
{
    AUTO_BUFFER buffer = {0};
    BlobRange all = {.offset = 0, .size = SIZE_MAX};
    TRY(blobs_read(call, store, tenant, digest, all, &buffer));
    char *bytes = arena_alloc(call->arena, buffer.size + 1);
    if (bytes == NULL) {
        return call_fail_memory(call, "the bytes of a blob");
    }
    if (buffer.size > 0) {
        memcpy(bytes, buffer.data, buffer.size);
    }
    *ret_bytes = slice_of(bytes, buffer.size);
    return STATUS_OK;
}

static Status
read_holders(Call *call, const Rows *rows, BlobHolder *holders)
{
    for (size_t index = 0; index < rows->count; index++) {
        RowReader reader = row_reader(call, rows, index);
        holders[index].digest = row_digest(&reader);
        holders[index].size = (uint64_t)row_int64(&reader);
        holders[index].holder = row_digest(&reader);
        TRY(row_end(call, &reader));
    }
    return STATUS_OK;
}

Status
blobs_holders(
    Call *call, Store *store, TenantId tenant, const Sha256 *digests, size_t count, BlobHolders *ret_holders)
{
    AUTO_SQL_ARRAY wanted = sql_array(SQL_BYTES);
    AUTO_ROWS rows = {0};
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        sql_array_bytes(&wanted, slice_of(digests[index].bytes, SHA256_SIZE));
    }
    values_uuid(&values, tenant.value);
    if (!values_array(&values, &wanted)) {
        return call_fail_memory(call, "the blobs of a graph");
    }
    TRY(store_query(call, store, tenant, &sql_blob_holders, &values, &rows));
    BlobHolder *holders = arena_alloc(call->arena, (rows.count + 1) * sizeof *holders);
    if (holders == NULL) {
        return call_fail_memory(call, "the blobs of a graph");
    }
    TRY(read_holders(call, &rows, holders));
    *ret_holders = (BlobHolders){holders, rows.count};
    return STATUS_OK;
}
