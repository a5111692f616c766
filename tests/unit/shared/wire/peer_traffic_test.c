/* The document of a worker's peers. */
#include "shared/wire/peer_traffic.h"

#include "tests/support/call_fixture.h"

static void
what_is_written_is_read(void **state)
{
    Call *call = *state;
    AUTO_BUFFER json = {0};
    const WirePeerTraffic written[] = {
        {SLICE("10.0.0.7:8471"), 12, 3, INT64_C(1) << 40, 77, 250},
        {SLICE("[fd00::7]:8471"), 0, 0, 0, 0, 0},
    };
    const WirePeerTraffic *read = NULL;
    size_t count = 0;
    wire_traffic_write(&json, written, COUNT_OF(written));
    assert_status(call, STATUS_OK, wire_traffic_read(call, buffer_slice(&json), &read, &count));
    assert_int_equal(count, COUNT_OF(written));
    for (size_t index = 0; index < count; index++) {
        assert_true(slice_equal(read[index].address, written[index].address));
        assert_int_equal(read[index].calls, written[index].calls);
        assert_int_equal(read[index].errors, written[index].errors);
        assert_int_equal(read[index].sent, written[index].sent);
        assert_int_equal(read[index].received, written[index].received);
        assert_int_equal(read[index].round_trip_us, written[index].round_trip_us);
    }
}

static void
a_worker_without_peers_is_read(void **state)
{
    Call *call = *state;
    const WirePeerTraffic *read = NULL;
    size_t count = 7;
    assert_status(
        call, STATUS_OK, wire_traffic_read(call, SLICE("{\"peers\":[],\"more\":1}"), &read, &count));
    assert_int_equal(count, 0);
}

static void
what_is_no_list_of_peers_is_refused(void **state)
{
    Call *call = *state;
    static const char *const wrong[] = {"", "[]", "{\"peers\":7}", "{\"peers\":[{\"calls\":\"many\"}]}"};
    for (size_t index = 0; index < COUNT_OF(wrong); index++) {
        const WirePeerTraffic *read = NULL;
        size_t count = 7;
        assert_int_equal(
            wire_traffic_read(call, slice_from_string(wrong[index]), &read, &count), STATUS_INVALID_ARGUMENT);
        assert_int_equal(count, 7);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(what_is_written_is_read),
        CALL_TEST(a_worker_without_peers_is_read),
        CALL_TEST(what_is_no_list_of_peers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
