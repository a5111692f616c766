/* The backend that keeps bytes in PostgreSQL, in pieces of one row each: "postgres:<uuid>". A part, 4 MiB, is
 * committed at once; its pieces are small, since libpq keeps buffers that have once become large. */
#include "gateway/store/blob_backend.h"

#include <assert.h>

#include "gateway/store/pipeline.h"
#include "shared/base/text.h"

STATEMENT(blob_piece_insert);
STATEMENT(blob_piece_find);
STATEMENT(blob_piece_delete);

enum { PIECE_SIZE = 1 << 20, PIECES_A_PART = 4, PIECES_A_REMOVAL = 64 };

static const char prefix[] = "postgres:";

static size_t
choose_part_size(const BlobBackend *backend, uint64_t size)
{
    (void)backend;
    (void)size;
    return (size_t)PIECES_A_PART * PIECE_SIZE;
}

static Status
make_location(
    Call *call, const BlobBackend *backend, TenantId tenant, const Sha256 *digest, const char **ret_location)
{
    (void)backend;
    (void)tenant;
    (void)digest;
    char id[UUID_TEXT_SIZE];
    uuid_to_text(uuid_new(), id);
    const char *location = text_format(call->arena, "%s%s", prefix, id);
    if (location == NULL) {
        return call_fail_memory(call, "a blob");
    }
    *ret_location = location;
    return STATUS_OK;
}

/* Adds the tenant and the id of the pieces. */
static Status
add_identity(Call *call, const BlobObject *object, Values *values)
{
    Uuid id;
    Slice text = slice_from_string(object->location);
    if (!uuid_from_text(slice_part(text, sizeof prefix - 1, text.size), &id)) {
        return call_fail(call, STATUS_DATA_LOSS, "'%s' is no location of a blob", object->location);
    }
    values_uuid(values, object->tenant.value);
    values_uuid(values, id);
    return STATUS_OK;
}

static Status
write_pieces(
    Call *call, BlobBackend *backend, const BlobObject *object, const BlobPart *part, const char **ret_tag)
{
    (void)backend;
    (void)ret_tag;
    assert(part->offset % PIECE_SIZE == 0 && store_is_in_transaction(object->store));

    for (size_t offset = 0; offset < part->bytes.size; offset += PIECE_SIZE) {
        Values values = {0};
        TRY(add_identity(call, object, &values));
        values_int64(&values, (int64_t)((part->offset + offset) / PIECE_SIZE));
        values_bytes(&values, slice_part(part->bytes, offset, PIECE_SIZE));
        TRY(store_execute(call, object->store, object->tenant, &sql_blob_piece_insert, &values, NULL));
    }
    return STATUS_OK;
}

static Status
finish_pieces(Call *call, BlobBackend *backend, const BlobObject *object, const BlobParts *parts)
{
    (void)call;
    (void)backend;
    (void)object;
    (void)parts;
    return STATUS_OK;
}

Status
blob_row_read(Call *call, const BlobObject *object, const Statement *statement, Values *values,
    BlobRange range, Buffer *ret_bytes)
{
    AUTO_ROWS rows = {0};
    values_int64(values, (int64_t)range.offset + 1);
    values_int64(values, (int64_t)range.size);
    TRY(store_query(call, object->store, object->tenant, statement, values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_ABORTED, "the blob was collected while it was read");
    }
    RowReader reader = row_reader(call, &rows, 0);
    buffer_append_slice(ret_bytes, row_bytes_borrowed(&reader));
    TRY(row_end(call, &reader));
    return buffer_is_ok(ret_bytes) ? STATUS_OK : call_fail_memory(call, "the bytes of a blob");
}

/* Reads a range that lies in one piece. */
static Status
read_piece(Call *call, const BlobObject *object, BlobRange range, Buffer *ret_bytes)
{
    Values values = {0};
    TRY(add_identity(call, object, &values));
    values_int64(&values, (int64_t)(range.offset / PIECE_SIZE));
    range.offset %= PIECE_SIZE;
    return blob_row_read(call, object, &sql_blob_piece_find, &values, range, ret_bytes);
}

static Status
read_pieces(Call *call, BlobBackend *backend, const BlobObject *object, BlobRange range, Buffer *ret_bytes)
{
    (void)backend;
    for (uint64_t end = range.offset + range.size; range.offset < end; range.offset += range.size) {
        uint64_t in_piece = PIECE_SIZE - range.offset % PIECE_SIZE;
        range.size = (size_t)(end - range.offset < in_piece ? end - range.offset : in_piece);
        TRY(read_piece(call, object, range, ret_bytes));
    }
    return STATUS_OK;
}

/* Removes some pieces at a time: a statement over all of 20 GiB would hold locks for minutes and, being late,
 * be undone. */
static Status
remove_pieces(Call *call, BlobBackend *backend, const BlobObject *object)
{
    (void)backend;
    for (uint64_t removed = PIECES_A_REMOVAL; removed == PIECES_A_REMOVAL;) {
        Values values = {0};
        TRY(add_identity(call, object, &values));
        values_int64(&values, PIECES_A_REMOVAL);
        TRY(store_execute(call, object->store, object->tenant, &sql_blob_piece_delete, &values, &removed));
    }
    return STATUS_OK;
}

BlobBackend blob_backend_postgres = {
    .scheme = "postgres",
    .is_transactional = true,
    .part_size = choose_part_size,
    .locate = make_location,
    .write = write_pieces,
    .finish = finish_pieces,
    .read = read_pieces,
    .remove = remove_pieces,
};

Status
blob_backend_find(Call *call, Store *store, const char *location, BlobBackend **ret_backend)
{
    Slice whole = slice_from_string(location);
    Slice scheme = slice_part(whole, 0, slice_find(whole, ':'));
    BlobBackend *backend = store->blobs;
    if (slice_equals_string(scheme, blob_backend_postgres.scheme)) {
        *ret_backend = &blob_backend_postgres;
        return STATUS_OK;
    }
    if (backend == NULL || !slice_equals_string(scheme, backend->scheme)) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "these bytes lie in a blob store of the kind '%.*s', this gateway is set up for '%s'",
            SLICE_PRINT(scheme), backend == NULL ? blob_backend_postgres.scheme : backend->scheme);
    }
    *ret_backend = backend;
    return STATUS_OK;
}
