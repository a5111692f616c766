/* Happy path: the row is claimed, or inserted with a new location → bytes fill a part → when more come, the
 * part is hashed, written to the backend and noted in the row, in one transaction if the backend can have it
 * so → before the last part is written, the digest is checked → the backend finishes → the row becomes a
 * blob's.
 *
 * Failures: a part that could not be noted is written again by whoever goes on, at the same offset. A gateway
 * that dies leaves the row, whose lease runs out; an upload that nobody goes on with expires (upkeep). One
 * that dies between the backend's end and the row's leaves a row with all its bytes, which the next request
 * finishes. */
#include "gateway/blobs/blob_upload.h"

#include <assert.h>
#include <string.h>

#include "gateway/store/blobs.h"
#include "gateway/store/uploads.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/base/text.h"
#include "shared/telemetry/log.h"

enum { ARENA_SIZE_MAX = 64 * 1024, CLOSE_MS = 10000, WRITE_MS = 5000 };

struct BlobUpload {
    BlobStore *blobs;
    UploadSlot slot;
    BlobBackend *backend;
    Arena *arena;      /* of the row's texts */
    StoredUpload row;  /* as it is in the database, without its tail and digest state */
    Sha256Chain chain; /* of row.received bytes */
    Buffer part;       /* the bytes behind them */
    size_t part_size;
    bool is_unnamed;
    bool is_checked; /* the bytes must have this digest */
    Sha256 wanted;
    bool has_all;  /* all bytes are in the backend, and have the digest */
    bool is_ended; /* the row is gone */
};

static void
free_upload(BlobUpload *upload)
{
    blob_store_leave(upload->blobs, &upload->slot);
    buffer_done(&upload->part);
    arena_free(upload->arena);
    memory_free(upload);
}

static BlobObject
object_of(const BlobUpload *upload, Store *store)
{
    return (BlobObject){
        .store = store,
        .tenant = upload->slot.tenant,
        .location = upload->row.location,
        .state = upload->row.state,
    };
}

static Status
fail_offset(Call *call, uint64_t offset, uint64_t wanted)
{
    return call_fail(call, STATUS_ABORTED, "the upload goes on at offset %llu, not %llu",
        (unsigned long long)offset, (unsigned long long)wanted);
}

/* Takes the row's texts and bytes out of the call's arena. */
static Status
adopt_row(Call *call, BlobUpload *upload, const StoredUpload *row)
{
    upload->row = *row;
    upload->row.location = text_copy(upload->arena, slice_from_string(row->location));
    upload->row.state = text_copy(upload->arena, slice_from_string(row->state));
    upload->has_all = row->received == row->size &&
                      slice_equal(row->digest_state, slice_of(row->digest.bytes, SHA256_SIZE));
    if (row->received == 0 || upload->has_all) {
        upload->chain = sha256_chain_begin();
    } else if (row->digest_state.size == SHA256_SIZE && row->received % SHA256_BLOCK_SIZE == 0) {
        upload->chain = sha256_chain_from_bytes((const unsigned char *)row->digest_state.data, row->received);
    } else {
        return call_fail(
            call, STATUS_FAILED_PRECONDITION, "the state of the upload is damaged: end it with DELETE");
    }
    buffer_append_slice(&upload->part, row->tail);
    upload->row.tail = (Slice){0};
    upload->row.digest_state = (Slice){0};
    bool is_whole = upload->row.location != NULL && upload->row.state != NULL && buffer_is_ok(&upload->part);
    return is_whole ? STATUS_OK : call_fail_memory(call, "an upload");
}

/* Inserts the row of a new upload; `row` gets what is known of it. */
static Status
insert_row(Call *call, const BlobStore *blobs, Store *store, const BlobWanted *wanted, StoredUpload *row)
{
    const BlobBackend *backend = blob_store_backend_for(blobs, wanted->size);
    if (wanted->offset != 0 && wanted->offset != BLOB_OFFSET_ANY) {
        return fail_offset(call, 0, wanted->offset);
    }
    if (backend->part_size(backend, wanted->size) == 0) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "%llu bytes are more than the blob store takes",
            (unsigned long long)wanted->size);
    }
    *row = (StoredUpload){.digest = wanted->digest, .size = wanted->size, .state = ""};
    TRY(backend->locate(call, backend, wanted->tenant, &wanted->digest, &row->location));
    return uploads_insert(call, store, wanted->tenant, row);
}

/* Begins in the backend what has not begun there. The beginning of a gateway that died right behind it is
 * removed first. */
static Status
begin_in_backend(Call *call, Store *store, BlobUpload *upload, bool is_new)
{
    const char *state = NULL;
    BlobObject object = object_of(upload, store);
    if (!upload->backend->has_state || upload->row.state[0] != '\0') {
        return STATUS_OK;
    }
    if (!is_new) {
        TRY(upload->backend->remove(call, upload->backend, &object));
    }
    TRY(upload->backend->begin(call, upload->backend, &object, &state));
    upload->row.state = text_copy(upload->arena, slice_from_string(state));
    return upload->row.state == NULL ? call_fail_memory(call, "an upload")
                                     : uploads_set_state(call, store, upload->slot.tenant, &upload->row);
}

/* Compares a claimed upload with what is wanted. */
static Status
check_wanted(Call *call, const BlobUpload *upload, const BlobWanted *wanted)
{
    if (upload->row.size != wanted->size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the upload was begun with %llu bytes, not %llu: end it with DELETE to begin anew",
            (unsigned long long)upload->row.size, (unsigned long long)wanted->size);
    }
    if (wanted->offset != BLOB_OFFSET_ANY && blob_upload_offset(upload) != wanted->offset) {
        return fail_offset(call, blob_upload_offset(upload), wanted->offset);
    }
    bool fits = upload->has_all || upload->row.received % upload->part_size == 0;
    return fits ? STATUS_OK
                : call_fail(call, STATUS_FAILED_PRECONDITION,
                      "the upload was begun by another release: end it with DELETE to begin anew");
}

static Status
claim_upload(Call *call, Store *store, BlobUpload *upload, const BlobWanted *wanted, uint64_t *ret_offset)
{
    StoredUpload row = {0};
    Status found = uploads_claim(call, store, wanted->tenant, &wanted->digest, &row);
    if (found == STATUS_NOT_FOUND) {
        *ret_offset = 0;
        TRY(insert_row(call, upload->blobs, store, wanted, &row));
    } else {
        TRY(found);
    }
    Status adopted = adopt_row(call, upload, &row);
    upload->is_ended = adopted != STATUS_OK; /* a row that is not understood is left as it is */
    TRY(adopted);
    *ret_offset = blob_upload_offset(upload);
    TRY(blob_backend_find(call, store, upload->row.location, &upload->backend));
    upload->part_size = upload->backend->part_size(upload->backend, upload->row.size);
    TRY(check_wanted(call, upload, wanted));
    return begin_in_backend(call, store, upload, found == STATUS_NOT_FOUND);
}

static Status
open_upload(Call *call, BlobStore *blobs, Store *store, const BlobWanted *wanted, BlobUpload **ret_upload,
    uint64_t *ret_offset)
{
    BlobUpload *upload = memory_new(1, sizeof *upload);
    if (upload == NULL) {
        return call_fail_memory(call, "an upload");
    }
    upload->blobs = blobs;
    upload->is_ended = true;
    upload->is_unnamed = wanted->is_unnamed;
    upload->is_checked = !wanted->is_unnamed;
    upload->wanted = wanted->digest;
    upload->slot.tenant = wanted->tenant;
    list_init(&upload->slot.link);
    upload->arena = arena_new(ARENA_SIZE_MAX);
    Status status = upload->arena == NULL ? call_fail_memory(call, "an upload")
                                          : blob_store_enter(call, blobs, &upload->slot);
    if (status == STATUS_OK) {
        status = claim_upload(call, store, upload, wanted, ret_offset);
    }
    if (status != STATUS_OK) {
        blob_upload_close(upload, store);
        return status;
    }
    *ret_upload = upload;
    return STATUS_OK;
}

Status
blob_upload_open(Call *call, BlobStore *blobs, Store *store, const BlobWanted *wanted,
    BlobUpload **ret_upload, uint64_t *ret_offset)
{
    assert(wanted->offset <= wanted->size || wanted->offset == BLOB_OFFSET_ANY);

    uint64_t size = 0;
    if (wanted->is_unnamed) {
        BlobWanted named = *wanted;
        random_bytes(named.digest.bytes, sizeof named.digest.bytes);
        return open_upload(call, blobs, store, &named, ret_upload, ret_offset);
    }
    Status found = blobs_renew(call, store, wanted->tenant, &wanted->digest, &size);
    if (found == STATUS_NOT_FOUND) {
        return open_upload(call, blobs, store, wanted, ret_upload, ret_offset);
    }
    TRY(found);
    if (size != wanted->size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the bytes of this digest are %llu, not %llu",
            (unsigned long long)size, (unsigned long long)wanted->size);
    }
    *ret_upload = NULL;
    *ret_offset = size;
    return STATUS_OK;
}

/* Writes the part and notes it. The row's lock, where the backend writes behind it, keeps those out who would
 * take the upload over meanwhile; a backend that writes before it replaces parts as a whole. */
static Status
note_part(Call *call, Store *store, BlobUpload *upload, const BlobPart *part, UploadStep *step)
{
    BlobBackend *backend = upload->backend;
    BlobObject object = object_of(upload, store);
    const char *tag = NULL;
    if (!backend->is_transactional) {
        TRY(backend->write(call, backend, &object, part, &tag));
        step->tag = backend->has_state ? tag : NULL;
    }
    TRY(store_begin(call, store, upload->slot.tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(uploads_advance(call, store, upload->slot.tenant, &upload->row, step));
    if (backend->is_transactional) {
        TRY(backend->write(call, backend, &object, part, &tag));
    }
    return store_commit(call, TAKE(transaction));
}

/* Writes what is in `part`; `digest` is that of all bytes when it is the last one, else NULL. */
static Status
write_part(Call *call, Store *store, BlobUpload *upload, const Sha256 *digest)
{
    unsigned char state[SHA256_SIZE];
    Sha256Chain chain = upload->chain;
    BlobPart part = {
        .number = upload->row.received / upload->part_size,
        .offset = upload->row.received,
        .bytes = buffer_slice(&upload->part),
    };
    UploadStep step = {.number = part.number, .received = part.offset + part.bytes.size};
    if (digest != NULL) {
        memcpy(state, digest->bytes, SHA256_SIZE);
    } else {
        sha256_chain_add(&chain, part.bytes);
        sha256_chain_to_bytes(&chain, state);
    }
    step.digest_state = slice_of(state, SHA256_SIZE);
    TRY(note_part(call, store, upload, &part, &step));
    upload->chain = chain;
    upload->row.received = step.received;
    upload->has_all = digest != NULL;
    buffer_clear(&upload->part);
    return STATUS_OK;
}

Status
blob_upload_write(Call *call, Store *store, BlobUpload *upload, Slice bytes)
{
    uint64_t left = upload->row.size - blob_upload_offset(upload);
    if (bytes.size > left) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "more bytes came than the %llu of the blob",
            (unsigned long long)upload->row.size);
    }
    while (bytes.size > 0) {
        if (upload->part.size == upload->part_size) {
            TRY(write_part(call, store, upload, NULL));
        }
        Slice taken = slice_part(bytes, 0, upload->part_size - upload->part.size);
        buffer_append_slice(&upload->part, taken);
        if (!buffer_is_ok(&upload->part)) {
            return call_fail_memory(call, "a part of an upload");
        }
        bytes = slice_part(bytes, taken.size, bytes.size);
    }
    return STATUS_OK;
}

uint64_t
blob_upload_offset(const BlobUpload *upload)
{
    return upload->row.received + upload->part.size;
}

uint64_t
blob_upload_size(const BlobUpload *upload)
{
    return upload->row.size;
}

void
blob_upload_expect(BlobUpload *upload, const Sha256 *digest)
{
    assert(upload->is_unnamed);

    upload->is_checked = true;
    upload->wanted = *digest;
}

static Status
refuse_digest(Call *call, Store *store, BlobUpload *upload, const Sha256 *found)
{
    char wanted_hex[SHA256_HEX_SIZE];
    char found_hex[SHA256_HEX_SIZE];
    bool is_dropped = false;
    sha256_to_hex(&upload->wanted, wanted_hex);
    sha256_to_hex(found, found_hex);
    TRY(uploads_drop(call, store, upload->slot.tenant, &upload->row.digest, &is_dropped));
    upload->is_ended = true;
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "the %llu bytes that came have the digest %s, not %s: the upload is removed",
        (unsigned long long)upload->row.size, found_hex, wanted_hex);
}

/* Checks the digest and writes the last part. */
static Status
complete_bytes(Call *call, Store *store, BlobUpload *upload, Sha256 *ret_digest)
{
    *ret_digest = upload->row.digest;
    if (upload->has_all) {
        return STATUS_OK;
    }
    sha256_chain_end(&upload->chain, buffer_slice(&upload->part), ret_digest);
    return !upload->is_checked || sha256_equal(ret_digest, &upload->wanted)
               ? write_part(call, store, upload, ret_digest)
               : refuse_digest(call, store, upload, ret_digest);
}

Status
blob_upload_finish(Call *call, Store *store, BlobUpload *upload, Sha256 *ret_digest, bool *ret_is_new)
{
    assert(blob_upload_offset(upload) == upload->row.size);

    BlobParts parts = {.size = upload->row.size};
    TRY(complete_bytes(call, store, upload, ret_digest));
    if (upload->backend->has_state) {
        TRY(uploads_tags(call, store, upload->slot.tenant, &upload->row.digest, &parts.tags, &parts.count));
    }
    BlobObject object = object_of(upload, store);
    TRY(upload->backend->finish(call, upload->backend, &object, &parts));
    TRY(uploads_finish(call, store, upload->slot.tenant, &upload->row, ret_digest, ret_is_new));
    upload->is_ended = true;
    return STATUS_OK;
}

/* Ends an upload that nobody can go on with. */
static Status
drop_unnamed(Call *call, Store *store, const BlobUpload *upload)
{
    bool is_dropped = false;
    return uploads_drop(call, store, upload->slot.tenant, &upload->row.digest, &is_dropped);
}

/* Keeps the part that has come: as a part when it is whole and not the last, whose digest is checked first;
 * else as a tail. libpq keeps buffers that have once become large, so that a tail of some MiB costs these on
 * a connection. A part that the backend does not take, such as a full disk, is to be sent again; the upload
 * is given up even so. */
static Status
keep_part(Call *call, Store *store, BlobUpload *upload)
{
    bool is_part = upload->part.size == upload->part_size && blob_upload_offset(upload) < upload->row.size;
    Call writing = {.arena = call->arena, .deadline_ns = clock_monotonic_ns() + WRITE_MS * CLOCK_NS_PER_MS};
    Status written = is_part ? write_part(&writing, store, upload, NULL) : STATUS_OK;
    TRY(written == STATUS_ABORTED ? written : STATUS_OK);
    if (written != STATUS_OK) {
        log_failure(LOG_WARNING, "a part of an interrupted upload could not be kept", &writing);
        buffer_clear(&upload->part);
    }
    return uploads_pause(call, store, upload->slot.tenant, &upload->row, buffer_slice(&upload->part));
}

/* Keeps the tail. What fails here costs the client less than a part of its bytes, and others the lease's
 * time. */
static void
pause_upload(BlobUpload *upload, Store *store)
{
    Call call = {.arena = upload->arena, .deadline_ns = clock_monotonic_ns() + CLOSE_MS * CLOCK_NS_PER_MS};
    Status status = upload->is_unnamed ? drop_unnamed(&call, store, upload) : keep_part(&call, store, upload);
    if (status != STATUS_OK && status != STATUS_ABORTED) {
        log_failure(LOG_WARNING, "the end of an interrupted upload could not be kept", &call);
    }
}

void
blob_upload_close(BlobUpload *upload, Store *store)
{
    if (upload == NULL) {
        return;
    }
    if (!upload->is_ended && store != NULL) {
        pause_upload(upload, store);
    }
    free_upload(upload);
}
