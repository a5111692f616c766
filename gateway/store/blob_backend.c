#include "gateway/store/blob_backend.h"

#include "gateway/store/pipeline.h"

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

Status
blob_row_read(Call *call, Store *store, TenantId tenant, const Statement *statement, const Values *values,
    BlobRange range, Buffer *ret_bytes)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, tenant, statement, values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_ABORTED, "the blob was collected while it was read");
    }
    RowReader reader = row_reader(call, &rows, 0);
    Slice bytes = row_bytes_borrowed(&reader);
    buffer_append_slice(ret_bytes, slice_part(bytes, (size_t)range.offset, range.size));
    TRY(row_end(call, &reader));
    return buffer_is_ok(ret_bytes) ? STATUS_OK : call_fail_memory(call, "the bytes of a blob");
}
