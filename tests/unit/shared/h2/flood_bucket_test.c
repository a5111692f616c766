#include <nghttp2/nghttp2.h>

#include "shared/h2/flood.h"
#include "tests/support/cmocka_all.h"

static const uint64_t SECOND = 1000000000;

static int
take_until_empty(Flood *flood, FloodKind kind, uint64_t now_ns)
{
    int count = 0;
    while (flood_take(flood, kind, now_ns)) {
        count++;
    }
    return count;
}

static void
a_bucket_holds_its_burst_and_fills_with_time(void **state)
{
    (void)state;
    Flood flood;
    flood_init(&flood, 10, SECOND);
    assert_int_equal(take_until_empty(&flood, FLOOD_CONTROL, SECOND), 1000);
    assert_false(flood_take(&flood, FLOOD_CONTROL, SECOND));
    assert_in_range(take_until_empty(&flood, FLOOD_CONTROL, 2 * SECOND), 97, 100);
    assert_int_equal(take_until_empty(&flood, FLOOD_CONTROL, 1000 * SECOND), 1000);
    assert_int_equal(take_until_empty(&flood, FLOOD_PROVOKED, 1000 * SECOND), 50);
}

static void
every_concurrent_stream_may_be_reset_at_once(void **state)
{
    (void)state;
    Flood flood;
    flood_init(&flood, 10, 0);
    assert_int_equal(take_until_empty(&flood, FLOOD_RESET, 0), 100);
    flood_init(&flood, 5000, 0);
    assert_int_equal(take_until_empty(&flood, FLOOD_RESET, 0), 5000);
}

static void
data_sent_earns_window_updates(void **state)
{
    (void)state;
    Flood flood;
    flood_init(&flood, 10, 0);
    assert_int_equal(take_until_empty(&flood, FLOOD_WINDOW, 0), 10000);
    for (int count = 0; count < 100; count++) {
        flood_earn_window(&flood);
    }
    assert_in_range(take_until_empty(&flood, FLOOD_WINDOW, 0), 197, 200);
}

static void
frames_that_carry_something_are_free(void **state)
{
    (void)state;
    assert_int_equal(flood_kind(NGHTTP2_DATA, 0, 1), FLOOD_NONE);
    assert_int_equal(flood_kind(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 0), FLOOD_NONE);
    assert_int_equal(flood_kind(NGHTTP2_DATA, 0, 0), FLOOD_CONTROL);
    assert_int_equal(flood_kind(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 5), FLOOD_CONTROL);
    assert_int_equal(flood_kind(NGHTTP2_HEADERS, 0, 9), FLOOD_NONE);
    assert_int_equal(flood_kind(NGHTTP2_RST_STREAM, 0, 4), FLOOD_RESET);
    assert_int_equal(flood_kind(0xff, 0, 0), FLOOD_CONTROL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_holds_its_burst_and_fills_with_time),
        cmocka_unit_test(every_concurrent_stream_may_be_reset_at_once),
        cmocka_unit_test(data_sent_earns_window_updates),
        cmocka_unit_test(frames_that_carry_something_are_free),
    };
    return cmocka_run_group_tests_name("HTTP/2 flood buckets", tests, NULL, NULL);
}
