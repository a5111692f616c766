/* Rows of uploads: claims and fences, what expires, what is removed and tried again. */
#include "gateway/store/uploads.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/blob_backend.h"
#include "gateway/store/blobs.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

enum { SIZE = 5 << 20 };

static const Sha256 digest = {{7}};

static StoredUpload
insert_upload(Database *database)
{
    Call *call = &database->call;
    StoredUpload upload = {.digest = digest, .size = SIZE, .state = ""};
    assert_status(call, STATUS_OK,
        blob_backend_postgres.locate(
            call, &blob_backend_postgres, TENANT_DEFAULT, &digest, &upload.location));
    assert_status(call, STATUS_OK, uploads_insert(call, database->app, TENANT_DEFAULT, &upload));
    return upload;
}

/* Writes some bytes behind those that are there. */
static Status
write_bytes(Database *database, StoredUpload *upload, Slice bytes)
{
    Call *call = &database->call;
    BlobObject object = {.store = database->app, .tenant = TENANT_DEFAULT, .location = upload->location};
    BlobPart part = {.offset = upload->received, .bytes = bytes};
    UploadStep step = {.received = upload->received + bytes.size, .digest_state = SLICE("state")};
    TRY(store_begin(call, database->app, TENANT_DEFAULT));
    AUTO_TRANSACTION transaction = database->app;
    TRY(uploads_advance(call, database->app, TENANT_DEFAULT, upload, &step));
    TRY(blob_backend_postgres.write(call, &blob_backend_postgres, &object, &part, NULL));
    TRY(store_commit(call, TAKE(transaction)));
    upload->received = step.received;
    return STATUS_OK;
}

static void
end_lease(Database *database)
{
    (void)database_ask(
        database, "update blob_uploads set lease_until = now() - interval '1 second' returning size");
}

static void
a_claimed_upload_is_busy_until_its_lease_ends(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StoredUpload claimed;
    assert_status(
        call, STATUS_NOT_FOUND, uploads_claim(call, database->app, TENANT_DEFAULT, &digest, &claimed));
    StoredUpload first = insert_upload(database);
    assert_status(
        call, STATUS_ABORTED, uploads_claim(call, database->app, TENANT_DEFAULT, &digest, &claimed));
    StoredUpload again = {.digest = digest, .size = SIZE, .location = "postgres:other"};
    assert_status(call, STATUS_ABORTED, uploads_insert(call, database->app, TENANT_DEFAULT, &again));
    assert_status(call, STATUS_OK, uploads_pause(call, database->app, TENANT_DEFAULT, &first, SLICE("tail")));
    assert_status(call, STATUS_OK, uploads_claim(call, database->app, TENANT_DEFAULT, &digest, &claimed));
    assert_int_equal(claimed.fence, first.fence + 1);
    assert_true(slice_equal(claimed.tail, SLICE("tail")));
    assert_string_equal(claimed.location, first.location);
}

static void
a_writer_that_was_followed_changes_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    StoredUpload second;
    bool is_new = false;
    StoredUpload first = insert_upload(database);
    assert_status(call, STATUS_OK, write_bytes(database, &first, SLICE("one")));
    end_lease(database);
    assert_status(call, STATUS_OK, uploads_claim(call, database->app, TENANT_DEFAULT, &digest, &second));
    assert_int_equal(second.received, 3);
    assert_status(call, STATUS_ABORTED, write_bytes(database, &first, SLICE("two")));
    assert_status(
        call, STATUS_ABORTED, uploads_pause(call, database->app, TENANT_DEFAULT, &first, SLICE("x")));
    assert_status(
        call, STATUS_ABORTED, uploads_finish(call, database->app, TENANT_DEFAULT, &first, &digest, &is_new));
    assert_string_equal(database_ask(database, "select count(*) from blob_pieces"), "1");
    assert_string_equal(database_ask(database, "select received from blob_uploads"), "3");
}

static void
bytes_that_came_another_way_first_are_kept_and_these_removed(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Slice bytes;
    bool is_new = true;
    uint64_t removed = 0;
    Sha256 own;
    sha256(SLICE("bytes"), &own);
    StoredUpload upload = insert_upload(database);
    assert_status(call, STATUS_OK, write_bytes(database, &upload, SLICE("bytes")));
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &own, SLICE("bytes")));
    assert_status(
        call, STATUS_OK, uploads_finish(call, database->app, TENANT_DEFAULT, &upload, &own, &is_new));
    assert_false(is_new);
    assert_status(call, STATUS_OK, removals_do(call, database->app, TENANT_DEFAULT, 10, &removed));
    assert_int_equal(removed, 1);
    assert_string_equal(database_ask(database, "select count(*) from blob_pieces"), "0");
    assert_status(call, STATUS_OK, blobs_get(call, database->app, TENANT_DEFAULT, &own, &bytes));
    assert_true(slice_equal(bytes, SLICE("bytes")));
    assert_string_equal(database_ask(database, "select stored_bytes from usages"), "5");
}

static void
an_upload_that_nobody_goes_on_with_expires_with_its_bytes(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t count = 0;
    StoredUpload upload = insert_upload(database);
    assert_status(call, STATUS_OK, write_bytes(database, &upload, SLICE("bytes")));
    assert_string_equal(database_ask(database, "select stored_bytes from usages"), "5242880");
    end_lease(database);
    assert_status(call, STATUS_OK, uploads_expire(call, database->app, TENANT_DEFAULT, 3600, 10, &count));
    assert_int_equal(count, 0);
    (void)database_ask(
        database, "update blob_uploads set used_at = now() - interval '2 hours' returning size");
    assert_status(call, STATUS_OK, uploads_expire(call, database->app, TENANT_DEFAULT, 3600, 10, &count));
    assert_int_equal(count, 1);
    assert_string_equal(database_ask(database, "select stored_bytes from usages"), "0");
    assert_status(call, STATUS_OK, removals_do(call, database->app, TENANT_DEFAULT, 10, &count));
    assert_int_equal(count, 1);
    assert_string_equal(database_ask(database, "select count(*) from blob_pieces"), "0");
    assert_string_equal(database_ask(database, "select count(*) from blob_removals"), "0");
}

/* A part that a dropped upload's writer has on its way arrives before the lease ends. */
static void
a_dropped_upload_is_removed_when_its_lease_is_over(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    bool is_dropped = false;
    uint64_t count = 0;
    StoredUpload upload = insert_upload(database);
    assert_status(call, STATUS_OK, write_bytes(database, &upload, SLICE("bytes")));
    assert_status(call, STATUS_OK, uploads_drop(call, database->app, TENANT_DEFAULT, &digest, &is_dropped));
    assert_true(is_dropped);
    assert_status(call, STATUS_ABORTED, write_bytes(database, &upload, SLICE("late")));
    assert_status(call, STATUS_OK, removals_do(call, database->app, TENANT_DEFAULT, 10, &count));
    assert_int_equal(count, 0);
    (void)database_ask(database, "update blob_removals set due_at = now() returning attempts");
    assert_status(call, STATUS_OK, removals_do(call, database->app, TENANT_DEFAULT, 10, &count));
    assert_int_equal(count, 1);
    assert_string_equal(database_ask(database, "select count(*) from blob_pieces"), "0");
}

/* The store of this test has no backend for such a location. */
static void
a_removal_that_fails_is_tried_again_later(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t count = 0;
    (void)database_ask(database,
        "insert into blob_removals (tenant_id, location) select id, 's3:key' from tenants "
        "returning attempts");
    assert_status(call, STATUS_OK, removals_do(call, database->app, TENANT_DEFAULT, 10, &count));
    assert_int_equal(count, 0);
    assert_string_equal(database_ask(database, "select attempts || ' ' || last_error from blob_removals"),
        "1 these bytes lie in a blob store of the kind 's3', this gateway is set up for 'postgres'");
    assert_string_equal(
        database_ask(database,
            "select due_at between now() + interval '30 seconds' and now() + interval '1 minute' "
            "from blob_removals"),
        "t");
    assert_status(call, STATUS_OK, removals_do(call, database->app, TENANT_DEFAULT, 10, &count));
    assert_string_equal(database_ask(database, "select attempts from blob_removals"), "1");
    (void)database_ask(
        database, "update blob_removals set attempts = 1000, due_at = now() returning attempts");
    assert_status(call, STATUS_OK, removals_do(call, database->app, TENANT_DEFAULT, 10, &count));
    assert_string_equal(database_ask(database,
                            "select due_at between now() + interval '23 hours' and now() + interval '1 day' "
                            "from blob_removals"),
        "t");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_claimed_upload_is_busy_until_its_lease_ends),
        DATABASE_TEST(a_writer_that_was_followed_changes_nothing),
        DATABASE_TEST(bytes_that_came_another_way_first_are_kept_and_these_removed),
        DATABASE_TEST(an_upload_that_nobody_goes_on_with_expires_with_its_bytes),
        DATABASE_TEST(a_dropped_upload_is_removed_when_its_lease_is_over),
        DATABASE_TEST(a_removal_that_fails_is_tried_again_later),
    };
    return cmocka_run_group_tests_name("gateway/store/uploads", tests, NULL, NULL);
}
