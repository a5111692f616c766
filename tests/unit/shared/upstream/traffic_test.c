/* What has passed between a process and its peers. */
#include "shared/upstream/traffic.h"

#include <stdio.h>

#include "tests/support/cmocka_all.h"

static WirePeerTraffic listed[WIRE_PEERS_MAX];

static void
calls_to_a_peer_add_up_and_the_shortest_round_trip_counts(void **state)
{
    (void)state;
    Traffic *traffic = traffic_new();
    PeerTraffic *peer = traffic_of(traffic, "127.0.0.1:1");
    assert_ptr_equal(traffic_of(traffic, "127.0.0.1:1"), peer);
    traffic_count(peer, &(TrafficCall){.sent = 5, .received = 7, .round_trip_ns = 90000});
    traffic_count(peer, &(TrafficCall){.sent = 1, .received = 2, .round_trip_ns = 30000});
    traffic_count(peer, &(TrafficCall){.has_failed = true});
    assert_int_equal(traffic_list(traffic, listed), 1);
    assert_true(slice_equals_string(listed[0].address, "127.0.0.1:1"));
    assert_int_equal(listed[0].calls, 3);
    assert_int_equal(listed[0].errors, 1);
    assert_int_equal(listed[0].sent, 6);
    assert_int_equal(listed[0].received, 9);
    assert_int_equal(listed[0].round_trip_us, 30);
    traffic_count(
        traffic_of(traffic, "127.0.0.1:2"), &(TrafficCall){.has_failed = true, .sent = 10, .received = 20});
    WirePeerTraffic sum = traffic_sum(traffic);
    assert_int_equal(sum.calls, 4);
    assert_int_equal(sum.errors, 2);
    assert_int_equal(sum.sent, 16);
    assert_int_equal(sum.received, 29);
    traffic_free(traffic);
}

static void
so_many_peers_are_kept_and_what_is_sent_to_others_is_not_counted(void **state)
{
    (void)state;
    char address[32];
    Traffic *traffic = traffic_new();
    for (int index = 0; index < TRAFFIC_PEERS_MAX; index++) {
        (void)snprintf(address, sizeof address, "127.0.0.1:%d", index + 1);
        assert_non_null(traffic_of(traffic, address));
    }
    assert_null(traffic_of(traffic, "127.0.0.2:1"));
    traffic_count(NULL, &(TrafficCall){.sent = 1});
    assert_int_equal(traffic_list(traffic, listed), TRAFFIC_PEERS_MAX);
    assert_null(traffic_of(NULL, "127.0.0.1:1"));
    traffic_free(traffic);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_to_a_peer_add_up_and_the_shortest_round_trip_counts),
        cmocka_unit_test(so_many_peers_are_kept_and_what_is_sent_to_others_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
