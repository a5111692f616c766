#include "gateway/store/blobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

STATEMENT(blob_touch);
STATEMENT(blob_insert);
STATEMENT(blob_chunk_insert);
STATEMENT(blob_range_insert);
STATEMENT(blob_collect);
STATEMENT(blob_renew);
STATEMENT(blob_drop);

/* A position among the bytes of many blobs: all before it have been sent. */
typedef struct BlobPosition {
    size_t index;
    size_t offset;
} BlobPosition;

static int
compare_puts(const void *left, const void *right)
{
    const BlobPut *first = left;
    const BlobPut *second = right;
    return memcmp(first->digest.bytes, second->digest.bytes, SHA256_SIZE);
}

/* Returns the blob of this digest; `blobs` are sorted. */
static BlobPut *
find_put(BlobPut *blobs, size_t count, Slice digest)
{
    BlobPut wanted = {.is_there = false};
    assert(digest.size == SHA256_SIZE);
    memcpy(wanted.digest.bytes, digest.data, SHA256_SIZE);
    return bsearch(&wanted, blobs, count, sizeof *blobs, compare_puts);
}

/* Sorts the blobs and drops repeats, since statements lock rows in this order and change a row once.
 * Returns how many are left. */
static size_t
sort_puts(BlobPut *blobs, size_t count)
{
    size_t kept = 0;
    qsort(blobs, count, sizeof *blobs, compare_puts);
    for (size_t index = 0; index < count; index++) {
        if (kept == 0 || compare_puts(&blobs[kept - 1], &blobs[index]) != 0) {
            blobs[kept] = blobs[index];
            blobs[kept++].is_there = false;
        }
    }
    return kept;
}

static Slice
digest_bytes(const BlobPut *blob)
{
    return slice_of(blob->digest.bytes, SHA256_SIZE);
}

/* Marks the blobs that are stored already, and renews them. */
static Status
touch_blobs(Call *call, Store *store, TenantId tenant, BlobPut *blobs, size_t count)
{
    AUTO_SQL_ARRAY digests = sql_array(SQL_BYTES);
    AUTO_ROWS rows = {0};
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        sql_array_bytes(&digests, digest_bytes(&blobs[index]));
    }
    values_uuid(&values, tenant.value);
    if (!values_array(&values, &digests)) {
        return call_fail_memory(call, "blobs to be stored");
    }
    TRY(store_query(call, store, tenant, &sql_blob_touch, &values, &rows));
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        BlobPut *found = find_put(blobs, count, row_bytes_borrowed(&reader));
        assert(found != NULL);
        found->is_there = true;
    }
    return STATUS_OK;
}

/* Inserts the blobs that are missing. Blobs that another transaction inserted first are stored then, and
 * are not an error. */
static Status
insert_blobs(Call *call, Store *store, TenantId tenant, BlobPut *blobs, size_t count)
{
    AUTO_SQL_ARRAY digests = sql_array(SQL_BYTES);
    AUTO_SQL_ARRAY sizes = sql_array(SQL_INT64);
    AUTO_ROWS rows = {0};
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        if (!blobs[index].is_there) {
            sql_array_bytes(&digests, digest_bytes(&blobs[index]));
            sql_array_int64(&sizes, (int64_t)blobs[index].bytes.size);
        }
    }
    values_uuid(&values, tenant.value);
    if (!values_array(&values, &digests) || !values_array(&values, &sizes)) {
        return call_fail_memory(call, "blobs to be stored");
    }
    TRY(store_query(call, store, tenant, &sql_blob_insert, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the quota 'stored_bytes_max' is used up: delete graphs or blobs, or have an operator raise it");
    }
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        BlobPut *blob = find_put(blobs, count, row_bytes_borrowed(&reader));
        assert(blob != NULL);
        blob->is_there = !row_boolean(&reader);
    }
    return STATUS_OK;
}

typedef struct Chunks {
    SqlArray digests;
    SqlArray numbers;
    SqlArray bytes;
} Chunks;

static void
chunks_done(Chunks *chunks)
{
    sql_array_done(&chunks->digests);
    sql_array_done(&chunks->numbers);
    sql_array_done(&chunks->bytes);
}

static Status
insert_chunks(Call *call, Store *store, TenantId tenant, Chunks *chunks)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    if (!values_array(&values, &chunks->digests) || !values_array(&values, &chunks->numbers) ||
        !values_array(&values, &chunks->bytes)) {
        return call_fail_memory(call, "blobs to be stored");
    }
    return store_execute(call, store, tenant, &sql_blob_chunk_insert, &values, NULL);
}

/* Sends chunks of this and the following blobs, from *position on, up to one that fills a statement: libpq
 * keeps buffers that have once become large. */
static Status
insert_some_bytes(
    Call *call, Store *store, TenantId tenant, const BlobPut *blobs, size_t count, BlobPosition *position)
{
    CLEANUP(chunks_done) Chunks chunks = {sql_array(SQL_BYTES), sql_array(SQL_INT64), sql_array(SQL_BYTES)};
    while (position->index < count && chunks.bytes.buffer.size < BLOB_CHUNK_SIZE) {
        const BlobPut *blob = &blobs[position->index];
        if (blob->is_there || position->offset >= blob->bytes.size) {
            *position = (BlobPosition){.index = position->index + 1};
            continue;
        }
        sql_array_bytes(&chunks.digests, digest_bytes(blob));
        sql_array_int64(&chunks.numbers, (int64_t)(position->offset / BLOB_CHUNK_SIZE));
        sql_array_bytes(&chunks.bytes, slice_part(blob->bytes, position->offset, BLOB_CHUNK_SIZE));
        position->offset += BLOB_CHUNK_SIZE;
    }
    return chunks.digests.count == 0 ? STATUS_OK : insert_chunks(call, store, tenant, &chunks);
}

static bool
are_there(const BlobPut *blobs, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        if (!blobs[index].is_there) {
            return false;
        }
    }
    return true;
}

/* Stores blobs; the common case comes first: the same bytes are stored already. */
static Status
put_blobs(Call *call, Store *store, TenantId tenant, BlobPut *blobs, size_t count)
{
    BlobPosition position = {0};
    TRY(touch_blobs(call, store, tenant, blobs, count));
    if (are_there(blobs, count)) {
        return STATUS_OK;
    }
    TRY(insert_blobs(call, store, tenant, blobs, count));
    while (position.index < count) {
        TRY(insert_some_bytes(call, store, tenant, blobs, count, &position));
    }
    return STATUS_OK;
}

Status
blobs_put_all(Call *call, Store *store, TenantId tenant, BlobPut *blobs, size_t count)
{
    assert(store_is_in_transaction(store));
    for (size_t index = 0; index < count; index++) {
        if (blobs[index].bytes.size > BLOB_PUT_SIZE_MAX) {
            return call_fail(call, STATUS_OUT_OF_RANGE,
                "at most %zu bytes can be stored at once, not %zu: upload them as a blob", BLOB_PUT_SIZE_MAX,
                blobs[index].bytes.size);
        }
    }
    return count == 0 ? STATUS_OK : put_blobs(call, store, tenant, blobs, sort_puts(blobs, count));
}

Status
blobs_put(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice bytes)
{
    assert(digest != NULL);

    BlobPut blob = {.digest = *digest, .bytes = bytes};
    if (store_is_in_transaction(store)) {
        return blobs_put_all(call, store, tenant, &blob, 1);
    }
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(blobs_put_all(call, store, tenant, &blob, 1));
    return store_commit(call, TAKE(transaction));
}

/* The columns of many ranges, one array each. */
typedef struct RangeColumns {
    Values values;
    SqlArray digests;
    SqlArray files;
    SqlArray offsets;
    SqlArray sizes;
} RangeColumns;

static void
columns_done(RangeColumns *columns)
{
    sql_array_done(&columns->digests);
    sql_array_done(&columns->files);
    sql_array_done(&columns->offsets);
    sql_array_done(&columns->sizes);
}

static bool
describe_ranges(const BlobPartOf *ranges, size_t count, RangeColumns *columns)
{
    for (size_t index = 0; index < count; index++) {
        sql_array_bytes(&columns->digests, slice_of(ranges[index].digest.bytes, SHA256_SIZE));
        sql_array_bytes(&columns->files, slice_of(ranges[index].file.bytes, SHA256_SIZE));
        sql_array_int64(&columns->offsets, (int64_t)ranges[index].offset);
        sql_array_int64(&columns->sizes, (int64_t)ranges[index].size);
    }
    return values_array(&columns->values, &columns->digests) &&
           values_array(&columns->values, &columns->files) &&
           values_array(&columns->values, &columns->offsets) &&
           values_array(&columns->values, &columns->sizes);
}

Status
blobs_put_ranges(Call *call, Store *store, TenantId tenant, const BlobPartOf *ranges, size_t count)
{
    assert(count == 0 || ranges != NULL);

    CLEANUP(columns_done)
    RangeColumns columns = {
        .digests = sql_array(SQL_BYTES),
        .files = sql_array(SQL_BYTES),
        .offsets = sql_array(SQL_INT64),
        .sizes = sql_array(SQL_INT64),
    };
    if (count == 0) {
        return STATUS_OK;
    }
    values_uuid(&columns.values, tenant.value);
    if (!describe_ranges(ranges, count, &columns)) {
        return call_fail_memory(call, "ranges of files");
    }
    return store_execute(call, store, tenant, &sql_blob_range_insert, &columns.values, NULL);
}

static Status
fail_missing(Call *call, const Sha256 *digest)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    return call_fail(call, STATUS_NOT_FOUND, "there are no bytes with the digest '%s'", hex);
}

Status
blobs_renew(Call *call, Store *store, TenantId tenant, const Sha256 *digest, uint64_t *ret_size)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_digest(&values, digest);
    TRY(store_query(call, store, tenant, &sql_blob_renew, &values, &rows));
    if (rows.count == 0) {
        return fail_missing(call, digest);
    }
    RowReader reader = row_reader(call, &rows, 0);
    int64_t size = row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_size = (uint64_t)size;
    return STATUS_OK;
}

Status
blobs_drop(Call *call, Store *store, TenantId tenant, const Sha256 *digest)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_digest(&values, digest);
    TRY(store_query(call, store, tenant, &sql_blob_drop, &values, &rows));
    if (rows.count == 0) {
        return fail_missing(call, digest);
    }
    RowReader reader = row_reader(call, &rows, 0);
    bool is_dropped = row_boolean(&reader);
    TRY(row_end(call, &reader));
    return is_dropped ? STATUS_OK
                      : call_fail(call, STATUS_FAILED_PRECONDITION,
                            "a graph or a queued step refers to these bytes: delete it first");
}

Status
blobs_collect(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_removed)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_int64(&values, (int64_t)age_s);
    values_int64(&values, (int64_t)count_max);
    TRY(store_query(call, store, tenant, &sql_blob_collect, &values, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    int64_t removed = row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_removed = (uint64_t)removed;
    return STATUS_OK;
}
