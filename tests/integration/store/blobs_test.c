#include "gateway/store/blobs.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/tenants.h"
#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

/* Fills with bytes that differ between neighbouring offsets and chunks. */
static void
fill(char *bytes, size_t size)
{
    for (size_t index = 0; index < size; index++) {
        bytes[index] = (char)(index * 31 + index / 251);
    }
}

static void
assert_round_trip(Database *database, size_t size)
{
    Call *call = &database->call;
    AUTO_MEMORY char *bytes = memory_new(size + 1, 1);
    Slice sent = slice_of(bytes, size);
    Sha256 digest;
    Slice received;
    uint64_t stored = 0;
    fill(bytes, size);
    sha256(sent, &digest);
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &digest, sent));
    assert_status(call, STATUS_OK, blobs_find(call, database->app, TENANT_DEFAULT, &digest, &stored));
    assert_int_equal(stored, size);
    assert_status(call, STATUS_OK, blobs_get(call, database->app, TENANT_DEFAULT, &digest, &received));
    assert_true(slice_equal(sent, received));
}

static void
bytes_survive_around_the_edges_of_a_chunk(void **state)
{
    assert_round_trip(*state, 0);
    assert_round_trip(*state, 1);
    assert_round_trip(*state, BLOB_CHUNK_SIZE - 1);
    assert_round_trip(*state, BLOB_CHUNK_SIZE);
    assert_round_trip(*state, BLOB_CHUNK_SIZE + 1);
    assert_round_trip(*state, 2 * BLOB_CHUNK_SIZE);
}

static Status
put_all(Database *database, BlobPut *blobs, size_t count)
{
    Call *call = &database->call;
    TRY(store_begin(call, database->app, TENANT_DEFAULT));
    AUTO_TRANSACTION transaction = database->app;
    TRY(blobs_put_all(call, database->app, TENANT_DEFAULT, blobs, count));
    return store_commit(call, TAKE(transaction));
}

/* One blob that is stored already, one that comes twice, an empty one, and one with chunks for several
 * statements. */
static void
many_blobs_are_stored_at_once_and_each_once(void **state)
{
    enum { LARGE = 5 * BLOB_CHUNK_SIZE + 3, COUNT = 5 };
    Database *database = *state;
    Call *call = &database->call;
    AUTO_MEMORY char *bytes = memory_new(LARGE, 1);
    const Slice sent[COUNT] = {
        SLICE("there"), slice_of(bytes, LARGE), SLICE("twice"), SLICE(""), SLICE("twice")};
    BlobPut blobs[COUNT];
    fill(bytes, LARGE);
    for (size_t index = 0; index < COUNT; index++) {
        blobs[index] = (BlobPut){.bytes = sent[index]};
        sha256(sent[index], &blobs[index].digest);
    }
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &blobs[0].digest, sent[0]));
    assert_status(call, STATUS_OK, put_all(database, blobs, COUNT));
    assert_string_equal(database_ask(database, "select count(*) from blobs"), "4");
    for (size_t index = 0; index < COUNT; index++) {
        Sha256 digest;
        Slice received;
        sha256(sent[index], &digest);
        assert_status(call, STATUS_OK, blobs_get(call, database->app, TENANT_DEFAULT, &digest, &received));
        assert_true(slice_equal(sent[index], received));
    }
    assert_string_equal(
        database_ask(database, "select stored_bytes = (select sum(size) from blobs) from usages"), "t");
}

static void
a_range_crosses_chunks_and_stops_at_the_end(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    size_t size = 2 * BLOB_CHUNK_SIZE + 100;
    AUTO_MEMORY char *bytes = memory_new(size, 1);
    AUTO_BUFFER part = {0};
    Sha256 digest;
    fill(bytes, size);
    sha256(slice_of(bytes, size), &digest);
    assert_status(
        call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &digest, slice_of(bytes, size)));
    const BlobRange ranges[] = {{0, 10}, {BLOB_CHUNK_SIZE - 5, 10}, {5, 2 * BLOB_CHUNK_SIZE}, {size - 3, 100},
        {size, 1}, {UINT64_MAX - 1, SIZE_MAX}};
    const size_t expected[] = {10, 10, 2 * BLOB_CHUNK_SIZE, 3, 0, 0};
    for (size_t index = 0; index < COUNT_OF(ranges); index++) {
        buffer_clear(&part);
        assert_status(
            call, STATUS_OK, blobs_read(call, database->app, TENANT_DEFAULT, &digest, ranges[index], &part));
        assert_int_equal(part.size, expected[index]);
        assert_true(part.size == 0 || memcmp(part.data, bytes + ranges[index].offset, part.size) == 0);
    }
}

/* Stores bytes of this size and notes what lies at `offset` of them as a blob of its own. */
static BlobPartOf
put_file_with_range(Database *database, Slice file, uint64_t offset, size_t size)
{
    Call *call = &database->call;
    BlobPartOf range = {.offset = offset, .size = size};
    sha256(file, &range.file);
    sha256(slice_part(file, offset, size), &range.digest);
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &range.file, file));
    assert_status(call, STATUS_OK, blobs_put_ranges(call, database->app, TENANT_DEFAULT, &range, 1));
    return range;
}

static void
a_range_of_a_file_is_a_blob_too(void **state)
{
    enum { FILE_SIZE = 3 * BLOB_CHUNK_SIZE, OFFSET = BLOB_CHUNK_SIZE - 7, SIZE = BLOB_CHUNK_SIZE + 20 };
    Database *database = *state;
    Call *call = &database->call;
    AUTO_MEMORY char *bytes = memory_new(FILE_SIZE, 1);
    AUTO_BUFFER part = {0};
    Slice whole;
    uint64_t size = 0;
    fill(bytes, FILE_SIZE);
    BlobPartOf range = put_file_with_range(database, slice_of(bytes, FILE_SIZE), OFFSET, SIZE);
    assert_status(call, STATUS_OK, blobs_find(call, database->app, TENANT_DEFAULT, &range.digest, &size));
    assert_int_equal(size, SIZE);
    assert_status(call, STATUS_OK, blobs_get(call, database->app, TENANT_DEFAULT, &range.digest, &whole));
    assert_true(slice_equal(whole, slice_of(bytes + OFFSET, SIZE)));
    BlobRange last = {.offset = SIZE - 5, .size = 100};
    assert_status(
        call, STATUS_OK, blobs_read(call, database->app, TENANT_DEFAULT, &range.digest, last, &part));
    assert_true(slice_equal(buffer_slice(&part), slice_of(bytes + OFFSET + SIZE - 5, 5)));
    assert_string_equal(database_ask(database, "select stored_bytes from usages"), "3145728");
}

static void
a_range_is_read_from_whichever_file_is_left(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    uint64_t removed = 0;
    Slice read;
    BlobPartOf first = put_file_with_range(database, SLICE("..weight"), 2, 6);
    BlobPartOf second = put_file_with_range(database, SLICE("weight...."), 0, 6);
    assert_true(sha256_equal(&first.digest, &second.digest));
    (void)database_ask(
        database, "update blobs set used_at = now() - interval '2 hours' where size = 8 returning size");
    assert_status(call, STATUS_OK, blobs_collect(call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    assert_int_equal(removed, 1);
    assert_status(call, STATUS_OK, blobs_get(call, database->app, TENANT_DEFAULT, &first.digest, &read));
    assert_true(slice_equal(read, SLICE("weight")));
    (void)database_ask(database, "update blobs set used_at = now() - interval '2 hours' returning size");
    assert_status(call, STATUS_OK, blobs_collect(call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    assert_status(
        call, STATUS_NOT_FOUND, blobs_get(call, database->app, TENANT_DEFAULT, &first.digest, &read));
}

static void
holders_are_the_blob_itself_or_a_file(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    BlobHolders holders = {.count = 0};
    BlobPartOf part = put_file_with_range(database, SLICE("..weight"), 2, 6);
    const Sha256 wanted[] = {part.digest, {{9}}, part.file, part.digest};
    assert_status(call, STATUS_OK,
        blobs_holders(call, database->app, TENANT_DEFAULT, wanted, COUNT_OF(wanted), &holders));
    assert_int_equal(holders.count, 2);
    for (size_t index = 0; index < holders.count; index++) {
        bool is_part = sha256_equal(&holders.items[index].digest, &part.digest);
        assert_true(is_part || sha256_equal(&holders.items[index].digest, &part.file));
        assert_true(sha256_equal(&holders.items[index].holder, &part.file));
        assert_int_equal(holders.items[index].size, is_part ? 6 : 8);
    }
    assert_true(memcmp(holders.items[0].digest.bytes, holders.items[1].digest.bytes, SHA256_SIZE) < 0);
    TenantId other = database_add_tenant(database, "other");
    assert_status(
        call, STATUS_OK, blobs_holders(call, database->app, other, wanted, COUNT_OF(wanted), &holders));
    assert_int_equal(holders.count, 0);
}

static void
a_range_of_a_file_that_is_not_there_is_refused(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    BlobPartOf range = {.digest = {{1}}, .file = {{2}}, .size = 5};
    assert_status(
        call, STATUS_FAILED_PRECONDITION, blobs_put_ranges(call, database->app, TENANT_DEFAULT, &range, 1));
}

static void
the_same_bytes_are_stored_and_counted_once(void **state)
{
    Database *database = *state;
    assert_round_trip(database, 1000);
    assert_round_trip(database, 1000);
    assert_string_equal(database_ask(database, "select count(*) from blobs"), "1");
    assert_string_equal(database_ask(database, "select stored_bytes from usages"), "1000");
}

static void
another_tenant_has_bytes_of_its_own(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    AUTO_BUFFER bytes = {0};
    Sha256 digest;
    uint64_t size = 0;
    sha256(SLICE("secret"), &digest);
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &digest, SLICE("secret")));
    assert_status(call, STATUS_NOT_FOUND, blobs_find(call, database->app, other, &digest, &size));
    assert_status(call, STATUS_NOT_FOUND,
        blobs_read(call, database->app, other, &digest, (BlobRange){.size = 10}, &bytes));
    assert_non_null(strstr(call->error.message, "there are no bytes with the digest '2bb80d537b1da3e3"));
    assert_status(call, STATUS_OK, blobs_put(call, database->app, other, &digest, SLICE("secret")));
    assert_string_equal(database_ask(database, "select count(*) from blobs"), "2");
}

static void
the_quota_of_stored_bytes_is_kept_and_freed(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Quota quota;
    Sha256 digest;
    uint64_t removed = 0;
    assert_status(call, STATUS_OK, quotas_find(call, database->app, TENANT_DEFAULT, &quota));
    quota.stored_bytes_max = 1000;
    assert_status(call, STATUS_OK, quotas_update(call, database->app, TENANT_DEFAULT, &quota));
    assert_round_trip(database, 1000);
    sha256(SLICE("x"), &digest);
    assert_status(
        call, STATUS_RESOURCE_EXHAUSTED, blobs_put(call, database->app, TENANT_DEFAULT, &digest, SLICE("x")));
    assert_string_equal(call->error.message,
        "the quota 'stored_bytes_max' is used up: delete graphs or blobs, or have an operator raise it");
    assert_status(call, STATUS_OK, blobs_collect(call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    assert_int_equal(removed, 0);
    (void)database_ask(database, "update blobs set used_at = now() - interval '2 hours'");
    assert_status(call, STATUS_OK, blobs_collect(call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    assert_int_equal(removed, 1);
    assert_string_equal(database_ask(database, "select count(*) from blob_chunks"), "0");
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &digest, SLICE("x")));
}

static void
a_put_inside_a_transaction_ends_with_it(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Sha256 digest;
    uint64_t size = 0;
    sha256(SLICE("x"), &digest);
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &digest, SLICE("x")));
    store_rollback(database->app);
    assert_status(call, STATUS_NOT_FOUND, blobs_find(call, database->app, TENANT_DEFAULT, &digest, &size));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(bytes_survive_around_the_edges_of_a_chunk),
        DATABASE_TEST(many_blobs_are_stored_at_once_and_each_once),
        DATABASE_TEST(a_range_of_a_file_is_a_blob_too),
        DATABASE_TEST(a_range_is_read_from_whichever_file_is_left),
        DATABASE_TEST(holders_are_the_blob_itself_or_a_file),
        DATABASE_TEST(a_range_of_a_file_that_is_not_there_is_refused),
        DATABASE_TEST(a_range_crosses_chunks_and_stops_at_the_end),
        DATABASE_TEST(the_same_bytes_are_stored_and_counted_once),
        DATABASE_TEST(another_tenant_has_bytes_of_its_own),
        DATABASE_TEST(the_quota_of_stored_bytes_is_kept_and_freed),
        DATABASE_TEST(a_put_inside_a_transaction_ends_with_it),
    };
    return cmocka_run_group_tests_name("gateway/store/blobs", tests, NULL, NULL);
}
