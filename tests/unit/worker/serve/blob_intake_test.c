#include "worker/serve/blob_intake.h"

#include "shared/base/atomic.h"
#include "shared/base/mutex.h"
#include "shared/crypto/digest.h"
#include "tests/support/await.h"
#include "tests/support/call_fixture.h"

enum { BLOB_SIZE = 3 << 20, PIECE_SIZE = 100000 };

/* The gate of a device that finds room only while it is open: closed while this test holds the lock. */
static Mutex gate_lock = MUTEX_INITIALIZER;
static int waiting_count; /* atomic: threads before the closed gate */
static bool has_memory;

static TensorBuffer *
allocate_behind_gate(Device *device, size_t size)
{
    (void)device;
    (void)atomic_add_relaxed(&waiting_count, 1);
    mutex_lock(&gate_lock);
    mutex_unlock(&gate_lock);
    (void)atomic_sub_relaxed(&waiting_count, 1);
    return has_memory ? tensor_buffer_new(size) : NULL;
}

static void
tell_memory(const Device *device, DeviceMemory *ret_memory)
{
    (void)device;
    *ret_memory = (DeviceMemory){.limit = 1 << 30};
}

static void
close_gate(void)
{
    mutex_lock(&gate_lock);
}

static void
open_gate(void)
{
    mutex_unlock(&gate_lock);
}

static Device device = {.allocate = allocate_behind_gate, .memory = tell_memory};
static Loop *loop;
static BlobStore *store;
static BlobIntakes *intakes;
static char content[BLOB_SIZE];

/* The events of one intake. */
typedef struct Told {
    bool has_begun;
    size_t taken;
    bool has_ended;
    BlobState state;
    Status status;
    bool is_wrong;
    char message[ERROR_MESSAGE_SIZE];
} Told;

static void
note_begun(void *context)
{
    ((Told *)context)->has_begun = true;
}

static void
note_taken(void *context, size_t size)
{
    ((Told *)context)->taken += size;
}

static void
note_end(void *context, const BlobIntakeEnd *end)
{
    Told *told = context;
    assert_false(told->has_ended);
    told->has_ended = true;
    told->state = end->state;
    told->status = end->status;
    told->is_wrong = end->is_wrong;
    (void)snprintf(told->message, sizeof told->message, "%s", end->call->error.message);
}

static int
setup(void **state)
{
    static Call call;
    call = (Call){.arena = NULL};
    *state = &call;
    has_memory = true;
    for (size_t at = 0; at < sizeof content; at++) {
        content[at] = (char)(at * 131 + at / 251);
    }
    store = blob_store_new(&(BlobStoreOptions){.device = &device});
    return store != NULL && loop_new(&call, &loop) == STATUS_OK &&
                   blob_intakes_new(&call, store, 2, &intakes) == STATUS_OK
               ? 0
               : -1;
}

static bool
turn_until_none_is_left(void)
{
    loop_turn(loop, 10);
    return blob_intake_count(intakes) == 0;
}

static int
teardown(void **state)
{
    (void)state;
    AWAIT(turn_until_none_is_left());
    blob_intakes_free(intakes);
    blob_store_free(store);
    loop_free(loop);
    return 0;
}

static CacheKey
key_of(Slice bytes)
{
    static char hex[SHA256_HEX_SIZE];
    Sha256 digest;
    sha256(bytes, &digest);
    sha256_to_hex(&digest, hex);
    return (CacheKey){.tenant = SLICE("t"), .digest = slice_from_string(hex)};
}

static CacheKey
key_of_content(void)
{
    return key_of(slice_of(content, sizeof content));
}

static BlobIntake *
begin(CacheKey key, uint64_t size, Told *told)
{
    static const BlobIntakeEvents events = {
        .on_begun = note_begun, .on_taken = note_taken, .on_end = note_end};
    *told = (Told){.has_begun = false};
    BlobIntake *intake = blob_intake_begin(intakes, loop, key, size, &events, told);
    assert_non_null(intake);
    return intake;
}

static void
await_end(const Told *told)
{
    uint64_t end_ns = clock_monotonic_ns() + AWAIT_MS * CLOCK_NS_PER_MS;
    while (!told->has_ended) {
        assert_true(clock_monotonic_ns() < end_ns);
        loop_turn(loop, 100);
    }
}

/* Hands over the content in pieces, as the loop turns, and returns how the intake ended. */
static Told
take_content(CacheKey key)
{
    Told told;
    BlobIntake *intake = begin(key, sizeof content, &told);
    for (size_t at = 0; at < sizeof content && !told.has_ended; at += PIECE_SIZE) {
        assert_true(blob_intake_write(intake, slice_part(slice_of(content, sizeof content), at, PIECE_SIZE)));
        loop_turn(loop, 0);
    }
    if (!told.has_ended) {
        blob_intake_finish(intake);
        await_end(&told);
    }
    return told;
}

static void
a_blob_is_kept_and_all_its_bytes_are_given_back(void **state)
{
    (void)state;
    Told told = take_content(key_of_content());
    assert_int_equal(told.status, STATUS_OK);
    assert_int_equal(told.state, BLOB_IS_NEW);
    assert_true(told.has_begun);
    assert_int_equal(told.taken, sizeof content);
    TensorBuffer *blob = blob_store_find(store, key_of_content());
    assert_non_null(blob);
    assert_memory_equal(blob->data, content, sizeof content);
    tensor_buffer_unref(blob);
    told = take_content(key_of_content());
    assert_int_equal(told.state, BLOB_IS_HERE);
    assert_int_equal(told.status, STATUS_OK);
    assert_false(told.has_begun);
}

static void
bytes_of_another_digest_are_not_kept(void **state)
{
    (void)state;
    Told told = take_content(key_of(SLICE("others")));
    assert_true(told.is_wrong);
    assert_int_equal(told.status, STATUS_INVALID_ARGUMENT);
    assert_int_equal(told.taken, sizeof content);
    assert_null(blob_store_find(store, key_of(SLICE("others"))));
}

/* While no room is found, which may take seconds on a full disk, the loop turns, and holds what comes. */
static void
the_loop_does_not_wait_for_room(void **state)
{
    (void)state;
    Told told;
    close_gate();
    BlobIntake *intake = begin(key_of_content(), sizeof content, &told);
    assert_true(blob_intake_write(intake, slice_of(content, PIECE_SIZE)));
    AWAIT(atomic_load_relaxed(&waiting_count) == 1);
    for (int turn = 0; turn < 10; turn++) {
        loop_turn(loop, 0);
    }
    assert_false(told.has_begun);
    assert_int_equal(told.taken, 0);
    Told other;
    BlobIntake *second = begin(key_of_content(), sizeof content, &other);
    await_end(&other);
    assert_int_equal(other.state, BLOB_IS_COMING);
    assert_ptr_not_equal(second, intake);
    open_gate();
    assert_true(blob_intake_write(intake, slice_of(content + PIECE_SIZE, sizeof content - PIECE_SIZE)));
    blob_intake_finish(intake);
    await_end(&told);
    assert_int_equal(told.status, STATUS_OK);
    assert_int_equal(told.taken, sizeof content);
}

static void
a_blob_that_finds_no_room_is_refused_and_its_bytes_given_back(void **state)
{
    (void)state;
    Told told;
    has_memory = false;
    BlobIntake *intake = begin(key_of_content(), sizeof content, &told);
    assert_true(blob_intake_write(intake, slice_of(content, PIECE_SIZE)));
    await_end(&told);
    assert_int_equal(told.status, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(told.message, "no room on the device for a blob of 3145728 bytes");
    assert_int_equal(told.taken, PIECE_SIZE);
}

static bool
comes_again(void)
{
    return take_content(key_of_content()).state == BLOB_IS_NEW;
}

static void
an_abandoned_blob_tells_nothing_and_may_come_again(void **state)
{
    (void)state;
    Told told;
    close_gate();
    BlobIntake *intake = begin(key_of_content(), sizeof content, &told);
    AWAIT(atomic_load_relaxed(&waiting_count) == 1);
    blob_intake_abandon(intake); /* while a thread has it */
    open_gate();
    AWAIT(turn_until_none_is_left());
    intake = begin(key_of_content(), sizeof content, &told);
    while (!told.has_begun) {
        loop_turn(loop, 100);
    }
    assert_true(blob_intake_write(intake, slice_of(content, PIECE_SIZE)));
    while (told.taken < PIECE_SIZE) {
        loop_turn(loop, 100);
    }
    blob_intake_abandon(intake); /* while it is at its loop */
    AWAIT(comes_again());
    assert_false(told.has_ended);
}

static void
a_key_that_is_too_long_is_refused(void **state)
{
    (void)state;
    static char text[CACHE_KEY_MAX + 1];
    Told told;
    memset(text, 'a', sizeof text);
    (void)begin((CacheKey){.tenant = SLICE("t"), .digest = slice_of(text, sizeof text)}, 9, &told);
    await_end(&told);
    assert_int_equal(told.status, STATUS_INVALID_ARGUMENT);
}

#define INTAKE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        INTAKE_TEST(a_blob_is_kept_and_all_its_bytes_are_given_back),
        INTAKE_TEST(bytes_of_another_digest_are_not_kept),
        INTAKE_TEST(the_loop_does_not_wait_for_room),
        INTAKE_TEST(a_blob_that_finds_no_room_is_refused_and_its_bytes_given_back),
        INTAKE_TEST(an_abandoned_blob_tells_nothing_and_may_come_again),
        INTAKE_TEST(a_key_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
