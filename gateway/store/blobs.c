#include "gateway/store/blobs.h"

STATEMENT(blob_touch);
STATEMENT(blob_insert);
STATEMENT(blob_chunk_insert);
STATEMENT(blob_find);
STATEMENT(blob_chunk_find);
STATEMENT(blob_collect);

static void
add_identity(Values *values, TenantId tenant, const Sha256 *digest)
{
    values_uuid(values, tenant.value);
    values_digest(values, digest);
}

static Status
insert_chunks(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice bytes)
{
    for (size_t offset = 0; offset < bytes.size; offset += BLOB_CHUNK_SIZE) {
        Values values = {0};
        add_identity(&values, tenant, digest);
        values_int64(&values, (int64_t)(offset / BLOB_CHUNK_SIZE));
        values_bytes(&values, slice_part(bytes, offset, BLOB_CHUNK_SIZE));
        TRY(store_execute(call, store, tenant, &sql_blob_chunk_insert, &values, NULL));
    }
    return STATUS_OK;
}

/* The common case first: the same bytes are there already. */
static Status
put(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice bytes)
{
    AUTO_ROWS rows = {0};
    Values identity = {0};
    Values values = {0};
    uint64_t touched = 0;
    add_identity(&identity, tenant, digest);
    TRY(store_execute(call, store, tenant, &sql_blob_touch, &identity, &touched));
    if (touched > 0) {
        return STATUS_OK;
    }
    add_identity(&values, tenant, digest);
    values_int64(&values, (int64_t)bytes.size);
    TRY(store_query(call, store, tenant, &sql_blob_insert, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the quota 'stored_bytes_max' is used up");
    }
    RowReader reader = row_reader(call, &rows, 0);
    const bool is_new = row_boolean(&reader);
    return is_new ? insert_chunks(call, store, tenant, digest, bytes) : row_end(call, &reader);
}

Status
blobs_put(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice bytes)
{
    if (bytes.size > BLOB_SIZE_MAX) {
        return call_fail(
            call, STATUS_OUT_OF_RANGE, "a blob has at most %d bytes, not %zu", BLOB_SIZE_MAX, bytes.size);
    }
    if (store_is_in_transaction(store)) {
        return put(call, store, tenant, digest, bytes);
    }
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(put(call, store, tenant, digest, bytes));
    return store_commit(call, TAKE(transaction));
}

Status
blobs_find(Call *call, Store *store, TenantId tenant, const Sha256 *digest, uint64_t *ret_size)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, digest);
    TRY(store_query(call, store, tenant, &sql_blob_find, &values, &rows));
    if (rows.count == 0) {
        char hex[SHA256_HEX_SIZE];
        sha256_to_hex(digest, hex);
        return call_fail(call, STATUS_NOT_FOUND, "there are no bytes with the digest '%s'", hex);
    }
    RowReader reader = row_reader(call, &rows, 0);
    const int64_t size = row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_size = (uint64_t)size;
    return STATUS_OK;
}

/* The chunk that holds `offset`, from there on. */
static Status
read_chunk(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, BlobRange range, Buffer *ret_bytes)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, digest);
    values_int64(&values, (int64_t)(range.offset / BLOB_CHUNK_SIZE));
    TRY(store_query(call, store, tenant, &sql_blob_chunk_find, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_ABORTED, "the blob was collected while it was read");
    }
    RowReader reader = row_reader(call, &rows, 0);
    const Slice chunk = row_bytes_borrowed(&reader);
    buffer_append_slice(ret_bytes, slice_part(chunk, range.offset % BLOB_CHUNK_SIZE, range.size));
    TRY(row_end(call, &reader));
    return buffer_is_ok(ret_bytes) ? STATUS_OK : call_fail_memory(call, "the bytes of a blob");
}

Status
blobs_read(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, BlobRange range, Buffer *ret_bytes)
{
    uint64_t size = 0;
    TRY(blobs_find(call, store, tenant, digest, &size));
    const uint64_t left = range.offset < size ? size - range.offset : 0;
    const uint64_t end = range.offset + (range.size < left ? range.size : left);
    for (uint64_t offset = range.offset; offset < end;) {
        const uint64_t in_chunk = BLOB_CHUNK_SIZE - offset % BLOB_CHUNK_SIZE;
        const uint64_t wanted = end - offset < in_chunk ? end - offset : in_chunk;
        const BlobRange part = {.offset = offset, .size = (size_t)wanted};
        TRY(read_chunk(call, store, tenant, digest, part, ret_bytes));
        offset += wanted;
    }
    return STATUS_OK;
}

Status
blobs_get(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice *ret_bytes)
{
    AUTO_BUFFER buffer = {0};
    const BlobRange all = {.offset = 0, .size = BLOB_SIZE_MAX};
    TRY(blobs_read(call, store, tenant, digest, all, &buffer));
    char *const bytes = arena_alloc(call->arena, buffer.size + 1);
    if (bytes == NULL) {
        return call_fail_memory(call, "the bytes of a blob");
    }
    if (buffer.size > 0) {
        memcpy(bytes, buffer.data, buffer.size);
    }
    *ret_bytes = slice_of(bytes, buffer.size);
    return STATUS_OK;
}

Status
blobs_collect(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_removed)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_int64(&values, (int64_t)age_s);
    values_int64(&values, (int64_t)count_max);
    return store_execute(call, store, tenant, &sql_blob_collect, &values, ret_removed);
}
