#include "worker/serve/blob_store.h"

#include "tests/support/call_fixture.h"
#include "worker/cpu/device.h"

enum { BLOB_SIZE = 1 << 20 };

static char bytes[BLOB_SIZE];
static Device *device;

static void
make_device(Call *call, uint64_t memory_limit)
{
    CpuDeviceOptions options = {.thread_count = 1, .memory_limit = memory_limit};
    assert_status(call, STATUS_OK, cpu_device_new(call, &options, &device));
}

/* Writes the digest of a blob whose bytes are all `value`. */
static Slice
digest_of(char value)
{
    static char hex[SHA256_HEX_SIZE];
    Sha256 digest;
    memset(bytes, value, sizeof bytes);
    sha256(slice_of(bytes, sizeof bytes), &digest);
    sha256_to_hex(&digest, hex);
    return slice_from_string(hex);
}

static Status
put(Call *call, BlobStore *store, char value)
{
    BlobState state = BLOB_IS_HERE;
    BlobArrival *arrival = NULL;
    bool is_wrong = true;
    CacheKey key = {.tenant = SLICE("t"), .digest = digest_of(value)};
    TRY(blob_arrival_begin(call, store, key, BLOB_SIZE, &state, &arrival));
    assert_int_equal(state, BLOB_IS_NEW);
    assert_status(call, STATUS_OK, blob_arrival_write(call, arrival, slice_of(bytes, 1000)));
    assert_status(
        call, STATUS_OK, blob_arrival_write(call, arrival, slice_of(bytes + 1000, BLOB_SIZE - 1000)));
    Status status = blob_arrival_finish(call, arrival, &is_wrong);
    assert_false(is_wrong);
    blob_arrival_end(arrival);
    return status;
}

static TensorBuffer *
find(BlobStore *store, char value)
{
    return blob_store_find(store, (CacheKey){.tenant = SLICE("t"), .digest = digest_of(value)});
}

static bool
has(BlobStore *store, char value)
{
    TensorBuffer *blob = find(store, value);
    tensor_buffer_unref(blob);
    return blob != NULL;
}

static void
what_nobody_uses_makes_room_the_oldest_first(void **state)
{
    Call *call = *state;
    make_device(call, 1 << 28);
    BlobStore *store =
        blob_store_new(&(BlobStoreOptions){.device = device, .bytes_max = (uint64_t)2 * BLOB_SIZE});
    assert_non_null(store);
    assert_status(call, STATUS_OK, put(call, store, 'a'));
    TensorBuffer *used = find(store, 'a');
    assert_status(call, STATUS_OK, put(call, store, 'b'));
    assert_status(call, STATUS_OK, put(call, store, 'c'));
    assert_true(has(store, 'a'));
    assert_false(has(store, 'b'));
    assert_true(has(store, 'c'));
    assert_true(blob_store_drop(store));
    assert_false(has(store, 'c'));
    assert_false(blob_store_drop(store)); /* dropping what is used would free nothing */
    tensor_buffer_unref(used);
    assert_true(blob_store_drop(store));
    assert_false(has(store, 'a'));
    blob_store_free(store);
    cpu_device_free(device);
}

static bool
drop_blob(void *store, uint64_t tenant)
{
    (void)tenant;
    return blob_store_drop(store);
}

static void
a_full_device_makes_room_by_itself(void **state)
{
    Call *call = *state;
    make_device(call, 6 * BLOB_SIZE);
    BlobStore *store =
        blob_store_new(&(BlobStoreOptions){.device = device, .bytes_max = (uint64_t)100 * BLOB_SIZE});
    assert_non_null(store);
    device->keeper = (DeviceKeeper){.give_up = drop_blob, .context = store};
    for (char value = 'a'; value <= 'z'; value++) {
        assert_status(call, STATUS_OK, put(call, store, value));
    }
    assert_true(has(store, 'z'));
    assert_false(has(store, 'a'));
    blob_store_free(store);
    cpu_device_free(device);
}

static void
a_blob_is_kept_only_when_it_has_its_digest(void **state)
{
    Call *call = *state;
    BlobState blob_state = BLOB_IS_HERE;
    BlobArrival *arrival = NULL;
    bool is_wrong = false;
    make_device(call, 1 << 28);
    BlobStore *store = blob_store_new(&(BlobStoreOptions){.device = device});
    assert_non_null(store);
    CacheKey key = {.tenant = SLICE("t"), .digest = digest_of('a')};
    assert_status(call, STATUS_OK, blob_arrival_begin(call, store, key, BLOB_SIZE, &blob_state, &arrival));
    bytes[7] = 'b';
    assert_status(call, STATUS_OK, blob_arrival_write(call, arrival, slice_of(bytes, BLOB_SIZE)));
    assert_status(call, STATUS_INVALID_ARGUMENT, blob_arrival_finish(call, arrival, &is_wrong));
    assert_true(is_wrong);
    blob_arrival_end(arrival);
    assert_false(has(store, 'a'));
    blob_store_free(store);
    cpu_device_free(device);
}

static void
a_blob_comes_once_at_a_time_for_each_tenant(void **state)
{
    Call *call = *state;
    BlobState blob_state = BLOB_IS_HERE;
    BlobArrival *arrival = NULL;
    BlobArrival *other = NULL;
    make_device(call, 1 << 28);
    BlobStore *store = blob_store_new(&(BlobStoreOptions){.device = device});
    assert_non_null(store);
    CacheKey key = {.tenant = SLICE("t"), .digest = digest_of('a')};
    CacheKey foreign = {.tenant = SLICE("u"), .digest = key.digest};
    assert_status(call, STATUS_OK, blob_arrival_begin(call, store, key, BLOB_SIZE, &blob_state, &arrival));
    assert_int_equal(blob_state, BLOB_IS_NEW);
    assert_status(call, STATUS_OK, blob_arrival_begin(call, store, key, BLOB_SIZE, &blob_state, &other));
    assert_int_equal(blob_state, BLOB_IS_COMING);
    assert_null(other);
    assert_status(call, STATUS_OK, blob_arrival_begin(call, store, foreign, BLOB_SIZE, &blob_state, &other));
    assert_int_equal(blob_state, BLOB_IS_NEW);
    blob_arrival_end(arrival);
    blob_arrival_end(other);
    assert_status(call, STATUS_OK, put(call, store, 'a'));
    assert_status(call, STATUS_OK, blob_arrival_begin(call, store, key, BLOB_SIZE, &blob_state, &arrival));
    assert_int_equal(blob_state, BLOB_IS_HERE);
    blob_store_free(store);
    cpu_device_free(device);
}

static void
a_blob_larger_than_the_device_is_refused(void **state)
{
    Call *call = *state;
    BlobState blob_state = BLOB_IS_HERE;
    BlobArrival *arrival = NULL;
    make_device(call, 1 << 22);
    BlobStore *store = blob_store_new(&(BlobStoreOptions){.device = device});
    assert_non_null(store);
    CacheKey key = {.tenant = SLICE("t"), .digest = digest_of('a')};
    for (int attempt = 0; attempt < 2; attempt++) { /* the refusal leaves no mark */
        assert_status(call, STATUS_RESOURCE_EXHAUSTED,
            blob_arrival_begin(call, store, key, (uint64_t)1 << 40, &blob_state, &arrival));
    }
    assert_string_equal(call->error.message, "no room on the device for a blob of 1099511627776 bytes");
    blob_store_free(store);
    cpu_device_free(device);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(what_nobody_uses_makes_room_the_oldest_first),
        CALL_TEST(a_full_device_makes_room_by_itself),
        CALL_TEST(a_blob_is_kept_only_when_it_has_its_digest),
        CALL_TEST(a_blob_comes_once_at_a_time_for_each_tenant),
        CALL_TEST(a_blob_larger_than_the_device_is_refused),
    };
    return cmocka_run_group_tests_name("blob store", tests, NULL, NULL);
}
