#include "gateway/store/uploads.h"

#include <assert.h>

#include "gateway/store/blob_backend.h"
#include "shared/base/clock.h"

STATEMENT(upload_find);
STATEMENT(upload_claim);
STATEMENT(upload_insert);
STATEMENT(upload_state);
STATEMENT(upload_advance);
STATEMENT(upload_part_insert);
STATEMENT(upload_part_list);
STATEMENT(upload_pause);
STATEMENT(upload_finish);
STATEMENT(upload_drop);
STATEMENT(upload_expire);
STATEMENT(removal_list);
STATEMENT(removal_delete);
STATEMENT(removal_delay);

enum { REMOVALS_MS = 10000 }; /* for one tenant at a time; large blobs take several turns */

static void
add_identity(Values *values, TenantId tenant, const Sha256 *digest)
{
    values_uuid(values, tenant.value);
    values_digest(values, digest);
}

static Status
read_upload(Call *call, const Rows *rows, const Sha256 *digest, StoredUpload *ret_upload)
{
    RowReader reader = row_reader(call, rows, 0);
    StoredUpload upload = {.digest = *digest};
    upload.size = (uint64_t)row_int64(&reader);
    upload.location = row_text(&reader);
    upload.state = row_text(&reader);
    upload.received = (uint64_t)row_int64(&reader);
    upload.digest_state = row_bytes(&reader);
    upload.tail = row_bytes(&reader);
    upload.tail_size = (uint64_t)row_int64(&reader);
    upload.fence = row_int64(&reader);
    upload.is_being_written = row_boolean(&reader);
    TRY(row_end(call, &reader));
    *ret_upload = upload;
    return STATUS_OK;
}

static Status
fail_missing(Call *call, const Sha256 *digest)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    return call_fail(call, STATUS_NOT_FOUND, "no bytes with the digest '%s' are being uploaded", hex);
}

static Status
fail_busy(Call *call, uint64_t size)
{
    return call_fail(call, STATUS_ABORTED,
        "another request is uploading these %llu bytes: wait for it, or end it with DELETE",
        (unsigned long long)size);
}

static Status
fail_overtaken(Call *call)
{
    return call_fail(call, STATUS_ABORTED, "the upload was ended, or taken over, by another request");
}

Status
uploads_find(Call *call, Store *store, TenantId tenant, const Sha256 *digest, StoredUpload *ret_upload)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, digest);
    TRY(store_query(call, store, tenant, &sql_upload_find, &values, &rows));
    return rows.count == 0 ? fail_missing(call, digest) : read_upload(call, &rows, digest, ret_upload);
}

Status
uploads_claim(Call *call, Store *store, TenantId tenant, const Sha256 *digest, StoredUpload *ret_upload)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    StoredUpload found;
    add_identity(&values, tenant, digest);
    values_int64(&values, UPLOAD_LEASE_MS);
    TRY(store_query(call, store, tenant, &sql_upload_claim, &values, &rows));
    if (rows.count > 0) {
        return read_upload(call, &rows, digest, ret_upload);
    }
    TRY(uploads_find(call, store, tenant, digest, &found));
    return fail_busy(call, found.size);
}

/* Explains why no row was inserted: another request was first, or the quota. */
static Status
fail_insert(Call *call, Store *store, TenantId tenant, const StoredUpload *upload)
{
    StoredUpload found;
    Status status = uploads_find(call, store, tenant, &upload->digest, &found);
    if (status != STATUS_NOT_FOUND) {
        return status == STATUS_OK ? fail_busy(call, found.size) : status;
    }
    return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
        "the quota 'stored_bytes_max' has no room for %llu bytes: delete graphs or blobs, or have an "
        "operator raise it ('sluice-gateway quota TENANT stored_bytes_max=BYTES')",
        (unsigned long long)upload->size);
}

Status
uploads_insert(Call *call, Store *store, TenantId tenant, StoredUpload *upload)
{
    assert(upload->location != NULL);

    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, &upload->digest);
    values_int64(&values, (int64_t)upload->size);
    values_text(&values, upload->location);
    values_int64(&values, UPLOAD_LEASE_MS);
    TRY(store_query(call, store, tenant, &sql_upload_insert, &values, &rows));
    if (rows.count == 0) {
        return fail_insert(call, store, tenant, upload);
    }
    RowReader reader = row_reader(call, &rows, 0);
    upload->fence = row_int64(&reader);
    return row_end(call, &reader);
}

/* Runs a statement that changes the row of a claimed upload. */
static Status
change_upload(Call *call, Store *store, TenantId tenant, const Statement *statement, const Values *values)
{
    uint64_t changed = 0;
    TRY(store_execute(call, store, tenant, statement, values, &changed));
    return changed == 1 ? STATUS_OK : fail_overtaken(call);
}

Status
uploads_set_state(Call *call, Store *store, TenantId tenant, const StoredUpload *upload)
{
    Values values = {0};
    add_identity(&values, tenant, &upload->digest);
    values_int64(&values, upload->fence);
    values_text(&values, upload->state);
    return change_upload(call, store, tenant, &sql_upload_state, &values);
}

static Status
insert_part(Call *call, Store *store, TenantId tenant, const StoredUpload *upload, const UploadStep *step)
{
    Values values = {0};
    add_identity(&values, tenant, &upload->digest);
    values_int64(&values, (int64_t)step->number);
    values_text(&values, step->tag);
    return store_execute(call, store, tenant, &sql_upload_part_insert, &values, NULL);
}

Status
uploads_advance(Call *call, Store *store, TenantId tenant, const StoredUpload *upload, const UploadStep *step)
{
    assert(store_is_in_transaction(store) && step->received >= upload->received);

    Values values = {0};
    add_identity(&values, tenant, &upload->digest);
    values_int64(&values, upload->fence);
    values_int64(&values, (int64_t)upload->received);
    values_int64(&values, (int64_t)step->received);
    values_bytes(&values, step->digest_state);
    values_int64(&values, UPLOAD_LEASE_MS);
    TRY(change_upload(call, store, tenant, &sql_upload_advance, &values));
    return step->tag == NULL ? STATUS_OK : insert_part(call, store, tenant, upload, step);
}

Status
uploads_tags(Call *call, Store *store, TenantId tenant, const Sha256 *digest, const char *const **ret_tags,
    size_t *ret_count)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, digest);
    TRY(store_query(call, store, tenant, &sql_upload_part_list, &values, &rows));
    const char **tags = arena_alloc(call->arena, (rows.count + 1) * sizeof *tags);
    if (tags == NULL) {
        return call_fail_memory(call, "the parts of an upload");
    }
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        tags[index] = row_text(&reader);
        TRY(row_end(call, &reader));
    }
    *ret_tags = tags;
    *ret_count = rows.count;
    return STATUS_OK;
}

Status
uploads_pause(Call *call, Store *store, TenantId tenant, const StoredUpload *upload, Slice tail)
{
    Values values = {0};
    add_identity(&values, tenant, &upload->digest);
    values_int64(&values, upload->fence);
    values_int64(&values, (int64_t)upload->received);
    values_bytes(&values, tail.size == 0 ? SLICE("") : tail);
    return change_upload(call, store, tenant, &sql_upload_pause, &values);
}

Status
uploads_finish(Call *call, Store *store, TenantId tenant, const StoredUpload *upload, const Sha256 *digest,
    bool *ret_is_new)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    add_identity(&values, tenant, &upload->digest);
    values_int64(&values, upload->fence);
    values_digest(&values, digest);
    TRY(store_query(call, store, tenant, &sql_upload_finish, &values, &rows));
    if (rows.count == 0) {
        return fail_overtaken(call);
    }
    RowReader reader = row_reader(call, &rows, 0);
    *ret_is_new = row_boolean(&reader);
    return row_end(call, &reader);
}

Status
uploads_drop(Call *call, Store *store, TenantId tenant, const Sha256 *digest, bool *ret_is_dropped)
{
    uint64_t changed = 0;
    Values values = {0};
    add_identity(&values, tenant, digest);
    TRY(store_execute(call, store, tenant, &sql_upload_drop, &values, &changed));
    *ret_is_dropped = changed > 0;
    return STATUS_OK;
}

Status
uploads_expire(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_ended)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_int64(&values, (int64_t)age_s);
    values_int64(&values, (int64_t)count_max);
    return store_execute(call, store, tenant, &sql_upload_expire, &values, ret_ended);
}

static Status
delay_removal(Call *call, Store *store, TenantId tenant, const char *location, const char *message)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, location);
    values_text(&values, message);
    return store_execute(call, store, tenant, &sql_removal_delay, &values, NULL);
}

static Status
remove_bytes(Call *call, Store *store, TenantId tenant, const char *location)
{
    BlobBackend *backend = NULL;
    Values values = {0};
    BlobObject object = {.store = store, .tenant = tenant, .location = location, .state = ""};
    TRY(blob_backend_find(call, store, location, &backend));
    TRY(backend->remove(call, backend, &object));
    values_uuid(&values, tenant.value);
    values_text(&values, location);
    return store_execute(call, store, tenant, &sql_removal_delete, &values, NULL);
}

Status
removals_do(Call *call, Store *store, TenantId tenant, size_t count_max, uint64_t *ret_removed)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ns = call_time_left_ns(call, now_ns);
    uint64_t time_ns = REMOVALS_MS * CLOCK_NS_PER_MS;
    Call removing = {
        .arena = call->arena, .deadline_ns = now_ns + (left_ns < time_ns ? left_ns / 2 : time_ns)};
    *ret_removed = 0;
    values_uuid(&values, tenant.value);
    values_int64(&values, (int64_t)count_max);
    TRY(store_query(call, store, tenant, &sql_removal_list, &values, &rows));
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        const char *location = row_text(&reader);
        TRY(row_end(call, &reader));
        Status status = remove_bytes(&removing, store, tenant, location);
        if (status == STATUS_DEADLINE_EXCEEDED) {
            break;
        }
        if (status == STATUS_OK) {
            (*ret_removed)++;
        } else {
            TRY(delay_removal(call, store, tenant, location, removing.error.message));
        }
    }
    return STATUS_OK;
}
